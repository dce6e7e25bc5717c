//! *Progress*: a line on standard error that says the run is alive, when standard
//! error is a terminal and the run takes longer than a moment.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use palisade_report::usage;
/// How often the line is renewed.
const PERIOD: Duration = Duration::from_millis(500);

/// Where the engine stands, if it says so.
static DETAIL: Mutex<String> = Mutex::new(String::new());

/// Says where the engine stands. Engines call this through plain functions, so
/// that there is one for the process.
pub(crate) fn detail(text: String) {
    *DETAIL.lock().unwrap_or_else(PoisonError::into_inner) = text;
}

/// States that a search has stored.
static STATES: AtomicU64 = AtomicU64::new(0);

/// Says how many states a search has stored.
pub(crate) fn states(number: u64) {
    STATES.store(number, Ordering::Relaxed);
}

/// The states with their rate, if a search counts them.
fn states_so_far(since: Instant) -> String {
    match STATES.load(Ordering::Relaxed) {
        0 => String::new(),
        states => {
            let rate = states as f64 / since.elapsed().as_secs_f64().max(0.001);
            format!("{states} states, {rate:.0}/s, ")
        }
    }
}

fn detail_so_far() -> String {
    let detail = DETAIL.lock().unwrap_or_else(PoisonError::into_inner);
    if detail.is_empty() {
        String::new()
    } else {
        format!("{detail}, ")
    }
}

/// The line; it goes away when this is dropped.
pub(crate) struct Progress {
    /// Dropping the sender ends the thread.
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Progress {
    /// Shows `what` is going on.
    pub(crate) fn start(what: &'static str) -> Self {
        if !io::stderr().is_terminal() {
            return Self {
                stop: None,
                thread: None,
            };
        }
        STATES.store(0, Ordering::Relaxed);
        let (stop, stopped) = mpsc::channel::<()>();
        let thread = thread::spawn(move || {
            let start = Instant::now();
            let mut is_shown = false;
            while stopped.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout) {
                let seconds = start.elapsed().as_secs();
                let megabytes = usage::resident_bytes() >> 20;
                let detail = states_so_far(start) + &detail_so_far();
                show(&format!("{what}: {detail}{seconds} s, {megabytes} MB"));
                is_shown = true;
            }
            if is_shown {
                show("");
            }
        });
        Self {
            stop: Some(stop),
            thread: Some(thread),
        }
    }
}

/// Replaces the current line.
fn show(text: &str) {
    // Nothing depends on it.
    let mut err = io::stderr().lock();
    let _ = write!(err, "\r\x1b[2K{text}").and_then(|()| err.flush());
}

impl Drop for Progress {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A line that could not be shown is not worth a complaint.
            let _ = thread.join();
        }
    }
}
