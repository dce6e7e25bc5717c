// The sender writes after it has sent: nothing orders that before the receiver's read.
// expect: sc=violated tso=violated pso=violated rc11=violated
use std::sync::mpsc;
use std::thread;

static mut TOTAL: u32 = 0;

fn main() {
    let (sender, receiver) = mpsc::sync_channel(1);
    let worker = thread::spawn(move || {
        sender.send(5).unwrap();
        unsafe { TOTAL += 5 };
    });
    let value = receiver.recv().unwrap();
    assert_eq!(unsafe { TOTAL }, value);
    worker.join().unwrap();
}
