// The stack of index_stack.rs with a relaxed `give`: who takes a slot does not see that it was left.
// expect: sc=holds tso=holds pso=holds rc11=violated
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

const NONE: u32 = 0xff;

struct Pool {
    /// The tag and the index of the first free slot.
    head: AtomicU32,
    next: [AtomicU32; 2],
}

static POOL: Pool = Pool {
    head: AtomicU32::new(0),
    next: [AtomicU32::new(1), AtomicU32::new(NONE)],
};
static OWNED: [AtomicU32; 2] = [const { AtomicU32::new(0) }; 2];

fn take() -> Option<usize> {
    loop {
        let head = POOL.head.load(Ordering::Acquire);
        let index = head & 0xff;
        if index == NONE {
            return None;
        }
        let next = POOL.next[index as usize].load(Ordering::Relaxed);
        let new = (head & 0xff00).wrapping_add(0x100) & 0xff00 | next;
        if POOL
            .head
            .compare_exchange(head, new, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
        {
            return Some(index as usize);
        }
    }
}

fn give(index: usize) {
    loop {
        let head = POOL.head.load(Ordering::Relaxed);
        POOL.next[index].store(head & 0xff, Ordering::Relaxed);
        let new = head & 0xff00 | index as u32;
        if POOL
            .head
            .compare_exchange(head, new, Ordering::Relaxed, Ordering::Relaxed)
            .is_ok()
        {
            return;
        }
    }
}

fn client() {
    if let Some(index) = take() {
        assert_eq!(OWNED[index].swap(1, Ordering::Relaxed), 0);
        OWNED[index].store(0, Ordering::Relaxed);
        give(index);
    }
}

fn main() {
    let a = thread::spawn(client);
    let b = thread::spawn(client);
    a.join().unwrap();
    b.join().unwrap();
}
