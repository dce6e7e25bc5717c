// The numbers of seen_set.rs are read, then written back: two threads may draw the same.
// expect: sc=violated tso=violated pso=violated rc11=violated
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
                let number = NEXT.load(Ordering::Relaxed);
                NEXT.store(number + 1, Ordering::Relaxed);
                assert!(seen.lock().unwrap().insert(number));
            });
        }
    });
    assert_eq!(seen.into_inner().unwrap().len(), 2);
}
