// The reader-writer lock of rwlock.rs with a relaxed unlock of readers: a writer does not wait for what they read.
// expect: sc=holds tso=holds pso=holds rc11=violated
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

const WRITER: usize = 1;
const READER: usize = 2;

struct RwLock<T> {
    lock: AtomicUsize,
    data: UnsafeCell<T>,
}
unsafe impl<T: Send + Sync> Sync for RwLock<T> {}

impl<T> RwLock<T> {
    const fn new(data: T) -> Self {
        Self {
            lock: AtomicUsize::new(0),
            data: UnsafeCell::new(data),
        }
    }

    fn read<R>(&self, f: impl FnOnce(&T) -> R) -> R {
        while self.lock.fetch_add(READER, Ordering::Acquire) & WRITER != 0 {
            self.lock.fetch_sub(READER, Ordering::Release);
            std::hint::spin_loop();
        }
        let result = f(unsafe { &*self.data.get() });
        self.lock.fetch_sub(READER, Ordering::Relaxed);
        result
    }

    fn write<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        while self
            .lock
            .compare_exchange_weak(0, WRITER, Ordering::Acquire, Ordering::Relaxed)
            .is_err()
        {
            std::hint::spin_loop();
        }
        let result = f(unsafe { &mut *self.data.get() });
        self.lock.fetch_and(!WRITER, Ordering::Release);
        result
    }
}

static PAIR: RwLock<(u32, u32)> = RwLock::new((0, 0));

fn main() {
    thread::spawn(|| {
        loop {
            PAIR.write(|pair| {
                pair.0 ^= 1;
                pair.1 ^= 1;
            });
        }
    });
    loop {
        PAIR.read(|pair| assert_eq!(pair.0, pair.1));
    }
}
