// Two threads announce themselves and look for the other, in the one order of all SeqCst accesses.
// expect: sc=holds tso=holds pso=holds rc11=holds
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

static X: AtomicBool = AtomicBool::new(false);
static Y: AtomicBool = AtomicBool::new(false);

fn main() {
    let left = thread::spawn(|| {
        X.store(true, Ordering::SeqCst);
        Y.load(Ordering::SeqCst)
    });
    let right = thread::spawn(|| {
        Y.store(true, Ordering::SeqCst);
        X.load(Ordering::SeqCst)
    });
    let saw = left.join().unwrap() || right.join().unwrap();
    assert!(saw, "both missed the other");
}
