// Threads note in a set what they have done: each number once, in whatever order they come.
// expect: sc=holds tso=holds pso=holds rc11=holds
use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

static NEXT: AtomicU32 = AtomicU32::new(0);

fn main() {
    let seen = Mutex::new(HashSet::new());
    thread::scope(|s| {
        for _ in 0..2 {
            s.spawn(|| {
                let number = NEXT.fetch_add(1, Ordering::Relaxed);
                assert!(seen.lock().unwrap().insert(number));
            });
        }
    });
    assert_eq!(seen.into_inner().unwrap().len(), 2);
}
