// The initialisation of once.rs, published by a relaxed store.
// expect: sc=holds tso=holds pso=violated rc11=violated
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread;

struct Once {
    state: AtomicU8,
    value: UnsafeCell<Option<u32>>,
}

unsafe impl Sync for Once {}

impl Once {
    fn get(&self, init: impl FnOnce() -> u32) -> u32 {
        match self
            .state
            .compare_exchange(0, 1, Ordering::Acquire, Ordering::Acquire)
        {
            Ok(_) => {
                unsafe { *self.value.get() = Some(init()) };
                self.state.store(2, Ordering::Relaxed);
            }
            Err(_) => {
                while self.state.load(Ordering::Acquire) != 2 {
                    std::hint::spin_loop();
                }
            }
        }
        unsafe { (*self.value.get()).unwrap() }
    }
}

static ONCE: Once = Once {
    state: AtomicU8::new(0),
    value: UnsafeCell::new(None),
};

fn main() {
    thread::spawn(|| {
        loop {
            assert_ne!(ONCE.get(|| 7), 0);
        }
    });
    let mine = ONCE.get(|| 8);
    loop {
        assert_eq!(ONCE.get(|| 9), mine);
    }
}
