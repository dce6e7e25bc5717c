// A ticket lock that two threads take for ever; its counters wrap.
// expect: sc=holds tso=holds pso=holds rc11=holds
use std::cell::UnsafeCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

struct Ticket {
    next: AtomicUsize,
    now: AtomicUsize,
    value: UnsafeCell<u32>,
}

unsafe impl Sync for Ticket {}

impl Ticket {
    fn with<R>(&self, f: impl FnOnce(&mut u32) -> R) -> R {
        // Drawn by a relaxed operation it may be a number that this thread still sees from 2^64 tickets ago.
        let mine = self.next.fetch_add(1, Ordering::AcqRel);
        while self.now.load(Ordering::Acquire) != mine {
            std::hint::spin_loop();
        }
        let result = f(unsafe { &mut *self.value.get() });
        self.now.store(mine.wrapping_add(1), Ordering::Release);
        result
    }
}

fn main() {
    let ticket = Arc::new(Ticket {
        next: AtomicUsize::new(0),
        now: AtomicUsize::new(0),
        value: UnsafeCell::new(0),
    });
    for _ in 0..2 {
        let ticket = Arc::clone(&ticket);
        thread::spawn(move || {
            loop {
                ticket.with(|value| {
                    assert_eq!(*value, 0);
                    *value = 1;
                    *value = 0;
                });
            }
        });
    }
    loop {
        thread::park();
    }
}
