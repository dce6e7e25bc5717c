// The ticket lock of ticket_lock.rs, which waits by relaxed loads.
// expect: sc=holds tso=holds pso=holds rc11=violated
use std::cell::UnsafeCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

struct Ticket {
    next: AtomicU32,
    now: AtomicU32,
    value: UnsafeCell<u32>,
}

unsafe impl Sync for Ticket {}

impl Ticket {
    fn with<R>(&self, f: impl FnOnce(&mut u32) -> R) -> R {
        let mine = self.next.fetch_add(1, Ordering::Relaxed);
        while self.now.load(Ordering::Relaxed) != mine {
            std::hint::spin_loop();
        }
        let result = f(unsafe { &mut *self.value.get() });
        self.now.store(mine.wrapping_add(1), Ordering::Release);
        result
    }
}

fn main() {
    let ticket = Arc::new(Ticket {
        next: AtomicU32::new(0),
        now: AtomicU32::new(0),
        value: UnsafeCell::new(0),
    });
    let threads: Vec<_> = (0..2)
        .map(|_| {
            let ticket = Arc::clone(&ticket);
            thread::spawn(move || ticket.with(|value| *value += 1))
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(ticket.with(|value| *value), 2);
}
