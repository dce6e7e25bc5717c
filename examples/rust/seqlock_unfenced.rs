// The sequence lock of seqlock.rs without the reader's fence.
// expect: sc=holds tso=holds pso=holds rc11=violated
use std::sync::atomic::{AtomicUsize, Ordering, fence};
use std::thread;

static SEQUENCE: AtomicUsize = AtomicUsize::new(0);
static DATA: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];

fn write(value: usize) {
    let seen = SEQUENCE.load(Ordering::Relaxed);
    SEQUENCE.store(seen + 1, Ordering::Relaxed);
    fence(Ordering::Release);
    for cell in &DATA {
        cell.store(value, Ordering::Relaxed);
    }
    SEQUENCE.store(seen + 2, Ordering::Release);
}

fn read() -> (usize, usize) {
    loop {
        let before = SEQUENCE.load(Ordering::Acquire);
        let pair = (
            DATA[0].load(Ordering::Relaxed),
            DATA[1].load(Ordering::Relaxed),
        );
        if before % 2 == 0 && before == SEQUENCE.load(Ordering::Relaxed) {
            return pair;
        }
    }
}

fn main() {
    thread::spawn(|| {
        write(1);
        write(2);
    });
    loop {
        let (a, b) = read();
        assert_eq!(a, b);
    }
}
