// Two threads push to a vector behind a mutex, which grows meanwhile.
// expect: sc=holds tso=holds pso=holds rc11=holds
use std::sync::{Arc, Mutex};
use std::thread;

fn main() {
    let list = Arc::new(Mutex::new(Vec::new()));
    let mut threads = Vec::new();
    for i in 1..3_u32 {
        let list = Arc::clone(&list);
        threads.push(thread::spawn(move || list.lock().unwrap().push(i)));
    }
    for thread in threads {
        thread.join().unwrap();
    }
    let list = list.lock().unwrap();
    assert_eq!(list.len(), 2);
    assert_eq!(list.iter().sum::<u32>(), 3);
}
