// A worker sends over a channel: values come in order, each brings what was done before it was sent.
// expect: sc=holds tso=holds pso=holds rc11=holds
use std::sync::mpsc;
use std::thread;

static mut TOTAL: [u32; 2] = [0; 2];

fn main() {
    let (sender, receiver) = mpsc::channel();
    let worker = thread::spawn(move || {
        for i in 0..2 {
            unsafe { TOTAL[i] = 5 };
            sender.send(i).unwrap();
        }
    });
    let mut next = 0;
    for i in receiver {
        assert_eq!(i, next);
        assert_eq!(unsafe { TOTAL[i] }, 5);
        next += 1;
    }
    assert_eq!(next, 2);
    worker.join().unwrap();
}
