// A ring of two slots that is used for ever; its positions wrap.
// expect: sc=holds tso=holds pso=holds rc11=holds
use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread;

const SIZE: usize = 2;

struct Ring<T> {
    slots: [UnsafeCell<MaybeUninit<T>>; SIZE],
    head: AtomicU8,
    tail: AtomicU8,
}

unsafe impl<T: Send> Sync for Ring<T> {}

impl<T> Ring<T> {
    const fn new() -> Self {
        Self {
            slots: [const { UnsafeCell::new(MaybeUninit::uninit()) }; SIZE],
            head: AtomicU8::new(0),
            tail: AtomicU8::new(0),
        }
    }

    fn push(&self, value: T) -> Result<(), T> {
        let tail = self.tail.load(Ordering::Relaxed);
        if tail.wrapping_sub(self.head.load(Ordering::Acquire)) as usize == SIZE {
            return Err(value);
        }
        unsafe { (*self.slots[tail as usize % SIZE].get()).write(value) };
        self.tail.store(tail.wrapping_add(1), Ordering::Release);
        Ok(())
    }

    fn pop(&self) -> Option<T> {
        let head = self.head.load(Ordering::Relaxed);
        if head == self.tail.load(Ordering::Acquire) {
            return None;
        }
        let value = unsafe { (*self.slots[head as usize % SIZE].get()).assume_init_read() };
        self.head.store(head.wrapping_add(1), Ordering::Release);
        Some(value)
    }
}

static RING: Ring<u32> = Ring::new();

fn main() {
    thread::spawn(|| {
        let mut value = 0;
        loop {
            while RING.push(value).is_err() {
                std::hint::spin_loop();
            }
            value = (value + 1) % 3;
        }
    });
    let mut expected = 0;
    loop {
        if let Some(value) = RING.pop() {
            assert_eq!(value, expected);
            expected = (expected + 1) % 3;
        }
    }
}
