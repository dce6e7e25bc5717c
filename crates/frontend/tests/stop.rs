//! A front end that is told to stop ends without a Program and without complaints.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use palisade_frontend::{Stop, c, load_gapped_with, load_with};

const C: &str = "int x; int main(void) { x = 1; return x; }\n";
const RUST: &str = "use std::sync::atomic::{AtomicUsize, Ordering};
static X: AtomicUsize = AtomicUsize::new(0);
fn main() {
    let other = std::thread::spawn(|| X.store(1, Ordering::SeqCst));
    other.join().unwrap();
    assert!(X.load(Ordering::SeqCst) == 1);
}
";

fn never() -> Stop {
    Stop::new(Arc::new(AtomicBool::new(false)), None)
}

fn by_flag() -> Stop {
    Stop::new(Arc::new(AtomicBool::new(true)), None)
}

fn by_time() -> Stop {
    Stop::new(Arc::new(AtomicBool::new(false)), Some(Instant::now()))
}

#[test]
fn readers_that_work_ahead_look_at_the_flag_and_at_the_time() {
    for (name, text) in [("test.c", C), ("test.rs", RUST)] {
        for (stop, is_read) in [(never(), true), (by_flag(), false), (by_time(), false)] {
            let options = c::Options {
                stop,
                ..c::Options::default()
            };
            let path = Path::new(name);
            let whole = load_with(path, text, &options);
            let gapped = load_gapped_with(path, text, &options, &|_| true);
            assert_eq!(whole.is_ok(), is_read, "{name}");
            assert_eq!(gapped.is_ok(), is_read, "{name}");
            let refusals = whole.err().into_iter().chain(gapped.err());
            for refusal in refusals {
                assert!(refusal.is_stopped(), "{name}");
            }
        }
    }
}

/// What is wrong with a text is no stop.
#[test]
fn errors_are_no_stop() {
    let options = c::Options {
        stop: never(),
        ..c::Options::default()
    };
    let refusal = load_with(Path::new("test.c"), "int main(void) { y = 1; }\n", &options);
    let refusal = refusal.expect_err("`y` is not declared");
    assert!(!refusal.is_stopped() && refusal.items.len() == 1);
}
