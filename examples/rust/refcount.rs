// A reference count: the last one to drop frees, behind an acquire fence.
// expect: sc=holds tso=holds pso=holds rc11=holds
use std::ops::Deref;
use std::sync::atomic::{AtomicUsize, Ordering, fence};
use std::thread;

struct Inner<T> {
    count: AtomicUsize,
    value: T,
}

pub struct Rc2<T> {
    inner: *mut Inner<T>,
}

unsafe impl<T: Send + Sync> Send for Rc2<T> {}

impl<T> Rc2<T> {
    fn new(value: T) -> Self {
        let count = AtomicUsize::new(1);
        let inner = Box::into_raw(Box::new(Inner { count, value }));
        Self { inner }
    }
}

impl<T> Clone for Rc2<T> {
    fn clone(&self) -> Self {
        unsafe { (*self.inner).count.fetch_add(1, Ordering::Relaxed) };
        Self { inner: self.inner }
    }
}

impl<T> Deref for Rc2<T> {
    type Target = T;
    fn deref(&self) -> &T {
        unsafe { &(*self.inner).value }
    }
}

impl<T> Drop for Rc2<T> {
    fn drop(&mut self) {
        if unsafe { (*self.inner).count.fetch_sub(1, Ordering::Release) } == 1 {
            fence(Ordering::Acquire);
            drop(unsafe { Box::from_raw(self.inner) });
        }
    }
}

fn main() {
    let first = Rc2::new(7_u32);
    let second = first.clone();
    let thread = thread::spawn(move || assert_eq!(*second, 7));
    assert_eq!(*first, 7);
    drop(first);
    thread.join().unwrap();
}
