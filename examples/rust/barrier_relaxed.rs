// The barrier of barrier.rs with a relaxed count of those who arrive.
// expect: sc=holds tso=holds pso=holds rc11=violated
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;

struct Slot(UnsafeCell<u32>);
unsafe impl Sync for Slot {}

static ARRIVED: AtomicU32 = AtomicU32::new(0);
static ROUND: AtomicBool = AtomicBool::new(false);
static SLOTS: [Slot; 2] = [const { Slot(UnsafeCell::new(0)) }; 2];

fn wait() {
    let round = ROUND.load(Ordering::Relaxed);
    if ARRIVED.fetch_add(1, Ordering::Relaxed) == 1 {
        ARRIVED.store(0, Ordering::Relaxed);
        ROUND.store(!round, Ordering::Release);
    } else {
        while ROUND.load(Ordering::Acquire) == round {
            std::hint::spin_loop();
        }
    }
}

fn work(own: usize) {
    let mut bit = 0;
    loop {
        bit ^= 1;
        unsafe { *SLOTS[own].0.get() = bit };
        wait();
        assert_eq!(unsafe { *SLOTS[1 - own].0.get() }, bit);
        wait();
    }
}

fn main() {
    thread::spawn(|| work(1));
    work(0);
}
