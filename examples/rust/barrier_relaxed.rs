// The barrier of barrier.rs with a relaxed count of those who arrive.
// expect: sc=holds tso=holds pso=holds rc11=violated
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

struct Slot(UnsafeCell<u32>);
unsafe impl Sync for Slot {}

static ARRIVED: AtomicU32 = AtomicU32::new(0);
static ROUND: AtomicU32 = AtomicU32::new(0);
static SLOTS: [Slot; 2] = [const { Slot(UnsafeCell::new(0)) }; 2];

fn wait() {
    let round = ROUND.load(Ordering::Relaxed);
    if ARRIVED.fetch_add(1, Ordering::Relaxed) == 1 {
        ARRIVED.store(0, Ordering::Relaxed);
        ROUND.store(round + 1, Ordering::Release);
    } else {
        while ROUND.load(Ordering::Acquire) == round {
            std::hint::spin_loop();
        }
    }
}

fn work(own: usize) {
    for round in 1..=2 {
        unsafe { *SLOTS[own].0.get() = round };
        wait();
        assert_eq!(unsafe { *SLOTS[1 - own].0.get() }, round);
        wait();
    }
}

fn main() {
    let other = thread::spawn(|| work(1));
    work(0);
    other.join().unwrap();
}
