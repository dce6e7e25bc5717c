//! Tests as people write them for loom. The name of each says the verdict under RC11.
use loom::cell::UnsafeCell;
use loom::sync::atomic::{fence, AtomicBool, AtomicUsize, Ordering};
use loom::sync::{Arc, Mutex, Notify};
use loom::thread;
use std::rc::Rc;

struct Slot {
    full: AtomicBool,
    value: UnsafeCell<usize>,
}

fn hand_over(store: Ordering, load: Ordering) {
    let slot = Arc::new(Slot { full: AtomicBool::new(false), value: UnsafeCell::new(0) });
    let other = slot.clone();
    // Nobody waits for this thread: the model ends when it has.
    thread::spawn(move || {
        other.value.with_mut(|v| unsafe { *v = 7 });
        other.full.store(true, store);
    });
    if slot.full.load(load) {
        assert_eq!(slot.value.with(|v| unsafe { *v }), 7);
    }
}

#[test]
fn holds_hand_over() {
    loom::model(|| hand_over(Ordering::Release, Ordering::Acquire));
}

#[test]
fn violated_hand_over() {
    loom::model(|| hand_over(Ordering::Relaxed, Ordering::Acquire));
}

#[test]
fn holds_pointers_of_cells() {
    loom::model(|| {
        let cell = Arc::new((UnsafeCell::new(1), Notify::new()));
        let other = cell.clone();
        let t = thread::spawn(move || {
            unsafe { *other.0.get_mut().deref() = 2 };
            other.1.notify();
        });
        cell.1.wait();
        assert_eq!(unsafe { *cell.0.get().deref() }, 2);
        t.join().unwrap();
    });
}

#[test]
fn violated_pointers_of_cells() {
    loom::model(|| {
        let cell = Arc::new(UnsafeCell::new(1));
        let other = cell.clone();
        let t = thread::spawn(move || unsafe { *other.get_mut().deref() = 2 });
        assert!(unsafe { *cell.get().deref() } > 0);
        t.join().unwrap();
    });
}

#[test]
fn violated_load_that_is_not_atomic() {
    loom::model(|| {
        let a = Arc::new(AtomicUsize::new(0));
        let b = a.clone();
        let t = thread::spawn(move || {
            unsafe { b.unsync_load() };
        });
        a.store(1, Ordering::Relaxed);
        t.join().unwrap();
    });
}

#[test]
fn holds_load_that_is_not_atomic() {
    loom::model(|| {
        let a = Arc::new(AtomicUsize::new(0));
        let b = a.clone();
        thread::spawn(move || b.store(1, Ordering::Relaxed)).join().unwrap();
        assert_eq!(unsafe { a.unsync_load() }, 1);
        let mut a = Arc::try_unwrap(a).unwrap();
        a.with_mut(|v| *v += 1);
        assert_eq!(a.into_inner(), 2);
    });
}

#[test]
fn violated_end_of_a_thread_that_nobody_joins() {
    loom::model(|| {
        let x = Arc::new(AtomicUsize::new(0));
        let y = x.clone();
        thread::spawn(move || assert_eq!(y.swap(1, Ordering::Relaxed), 0));
        x.store(2, Ordering::Relaxed);
    });
}

loom::lazy_static! {
    static ref COUNT: AtomicUsize = AtomicUsize::new(3);
}

#[test]
fn holds_lazy_static() {
    loom::model(|| {
        let t = thread::spawn(|| COUNT.fetch_add(1, Ordering::Relaxed));
        let here = COUNT.fetch_add(1, Ordering::Relaxed);
        let there = t.join().unwrap();
        assert_eq!(here + there, 7);
    });
}

/// Closures need not be `Send`, as in loom; a race of the counts is one all the same.
#[test]
fn violated_counts_that_are_not_atomic() {
    loom::model(|| {
        let a = Rc::new(Mutex::new(0));
        let b = a.clone();
        let t = thread::spawn(move || *b.lock().unwrap() += 1);
        *a.lock().unwrap() += 1;
        drop(a);
        t.join().unwrap();
    });
}

fn store_buffering(order: Ordering) {
    let x = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
    let y = x.clone();
    let t = thread::spawn(move || {
        y.1.store(1, Ordering::Relaxed);
        fence(order);
        y.0.load(Ordering::Relaxed)
    });
    x.0.store(1, Ordering::Relaxed);
    fence(order);
    let here = x.1.load(Ordering::Relaxed);
    assert!(here + t.join().unwrap() > 0);
}

#[test]
fn holds_store_buffering() {
    loom::model(|| store_buffering(Ordering::SeqCst));
}

#[test]
fn violated_store_buffering() {
    loom::model(|| store_buffering(Ordering::AcqRel));
}
