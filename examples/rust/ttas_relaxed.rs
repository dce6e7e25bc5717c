// The lock of ttas.rs, taken by a relaxed compare-and-exchange.
// expect: sc=holds tso=holds pso=holds rc11=violated
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;

static LOCKED: AtomicBool = AtomicBool::new(false);
static INSIDE: AtomicU32 = AtomicU32::new(0);

fn lock() {
    loop {
        while LOCKED.load(Ordering::Relaxed) {
            std::hint::spin_loop();
        }
        if LOCKED
            .compare_exchange_weak(false, true, Ordering::Relaxed, Ordering::Relaxed)
            .is_ok()
        {
            return;
        }
    }
}

fn work() {
    loop {
        lock();
        INSIDE.store(INSIDE.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        assert_eq!(INSIDE.load(Ordering::Relaxed), 1);
        INSIDE.store(0, Ordering::Relaxed);
        LOCKED.store(false, Ordering::Release);
    }
}

fn main() {
    thread::scope(|s| {
        s.spawn(work);
        s.spawn(work);
    });
}
