// Treiber's stack [Treiber 1986]: two threads pop for ever, and no value twice. Nodes are not freed.
// expect: sc=holds tso=holds pso=holds rc11=holds
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use std::thread;
struct Node {
    value: usize,
    next: *mut Node,
}
struct Stack {
    head: AtomicPtr<Node>,
}
impl Stack {
    fn push(&self, value: usize) {
        let node = Box::into_raw(Box::new(Node {
            value,
            next: ptr::null_mut(),
        }));
        let mut head = self.head.load(Ordering::Relaxed);
        loop {
            unsafe { (*node).next = head };
            match self
                .head
                .compare_exchange_weak(head, node, Ordering::Release, Ordering::Relaxed)
            {
                Ok(_) => return,
                Err(now) => head = now,
            }
        }
    }
    fn pop(&self) -> Option<usize> {
        loop {
            let head = self.head.load(Ordering::Acquire);
            if head.is_null() {
                return None;
            }
            let next = unsafe { (*head).next };
            if self
                .head
                .compare_exchange_weak(head, next, Ordering::Acquire, Ordering::Relaxed)
                .is_ok()
            {
                return Some(unsafe { (*head).value });
            }
        }
    }
}
static STACK: Stack = Stack {
    head: AtomicPtr::new(ptr::null_mut()),
};
static TAKEN: [AtomicU32; 3] = [const { AtomicU32::new(0) }; 3];

fn take() -> ! {
    loop {
        if let Some(value) = STACK.pop() {
            assert_eq!(TAKEN[value].swap(1, Ordering::Relaxed), 0);
        }
    }
}

fn main() {
    thread::spawn(|| {
        STACK.push(1);
        STACK.push(2);
    });
    thread::spawn(take);
    take();
}
