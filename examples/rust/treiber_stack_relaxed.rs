// The stack of treiber_stack.rs with a relaxed push: nodes are read before they are written.
// expect: sc=holds tso=holds pso=holds rc11=violated
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::thread;

struct Node {
    value: u32,
    next: *mut Node,
}

struct Stack {
    head: AtomicPtr<Node>,
}

impl Stack {
    const fn new() -> Self {
        Self {
            head: AtomicPtr::new(ptr::null_mut()),
        }
    }

    fn push(&self, value: u32) {
        let node = Box::into_raw(Box::new(Node {
            value,
            next: ptr::null_mut(),
        }));
        let mut head = self.head.load(Ordering::Relaxed);
        loop {
            unsafe { (*node).next = head };
            match self.head.compare_exchange(head, node, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => head = now,
            }
        }
    }

    fn top(&self) -> Option<u32> {
        let head = self.head.load(Ordering::Acquire);
        (!head.is_null()).then(|| unsafe { (*head).value })
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        let mut at = *self.head.get_mut();
        while !at.is_null() {
            let node = unsafe { Box::from_raw(at) };
            at = node.next;
        }
    }
}

fn main() {
    let stack = Stack::new();
    thread::scope(|s| {
        s.spawn(|| stack.push(1));
        s.spawn(|| stack.push(2));
        if let Some(value) = stack.top() {
            assert!(value == 1 || value == 2);
        }
    });
    assert!(stack.top().is_some());
}
