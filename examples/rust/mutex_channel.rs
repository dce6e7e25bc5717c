// The standard library's locks: a mutex with a condition variable hands a value over.
// expect: sc=holds tso=holds pso=holds rc11=holds
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

fn main() {
    let shared = Arc::new((Mutex::new(None), Condvar::new()));
    let sender = {
        let shared = Arc::clone(&shared);
        thread::spawn(move || {
            let (slot, ready) = &*shared;
            *slot.lock().unwrap() = Some(7);
            ready.notify_one();
        })
    };
    let (slot, ready) = &*shared;
    let mut guard = slot.lock().unwrap();
    while guard.is_none() {
        guard = ready.wait(guard).unwrap();
    }
    assert_eq!(*guard, Some(7));
    drop(guard);
    sender.join().unwrap();
}
