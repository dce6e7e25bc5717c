// Two threads announce themselves and look for the other: with release and acquire both may miss it.
// expect: sc=holds tso=violated pso=violated rc11=violated
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

static X: AtomicBool = AtomicBool::new(false);
static Y: AtomicBool = AtomicBool::new(false);

fn main() {
    let left = thread::spawn(|| {
        X.store(true, Ordering::Release);
        Y.load(Ordering::Acquire)
    });
    let right = thread::spawn(|| {
        Y.store(true, Ordering::Release);
        X.load(Ordering::Acquire)
    });
    let saw = left.join().unwrap() || right.join().unwrap();
    assert!(saw, "both missed the other");
}
