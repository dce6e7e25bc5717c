// A ring of two slots for one producer and one consumer.
// expect: sc=holds tso=holds pso=holds rc11=holds
use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

const SIZE: usize = 2;

struct Ring<T> {
    slots: [UnsafeCell<MaybeUninit<T>>; SIZE],
    head: AtomicUsize,
    tail: AtomicUsize,
}

unsafe impl<T: Send> Sync for Ring<T> {}

impl<T> Ring<T> {
    const fn new() -> Self {
        Self {
            slots: [const { UnsafeCell::new(MaybeUninit::uninit()) }; SIZE],
            head: AtomicUsize::new(0),
            tail: AtomicUsize::new(0),
        }
    }

    fn push(&self, value: T) -> Result<(), T> {
        let tail = self.tail.load(Ordering::Relaxed);
        if tail - self.head.load(Ordering::Acquire) == SIZE {
            return Err(value);
        }
        unsafe { (*self.slots[tail % SIZE].get()).write(value) };
        self.tail.store(tail + 1, Ordering::Release);
        Ok(())
    }

    fn pop(&self) -> Option<T> {
        let head = self.head.load(Ordering::Relaxed);
        if head == self.tail.load(Ordering::Acquire) {
            return None;
        }
        let value = unsafe { (*self.slots[head % SIZE].get()).assume_init_read() };
        self.head.store(head + 1, Ordering::Release);
        Some(value)
    }
}

static RING: Ring<u32> = Ring::new();

fn main() {
    let producer = thread::spawn(|| {
        for value in 1..=3 {
            while RING.push(value).is_err() {
                std::hint::spin_loop();
            }
        }
    });
    let mut expected = 1;
    while expected <= 3 {
        if let Some(value) = RING.pop() {
            assert_eq!(value, expected);
            expected += 1;
        }
    }
    producer.join().unwrap();
}
