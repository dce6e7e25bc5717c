//! *Limits*: time, memory and Ctrl-C. A watch thread raises one flag that all
//! front ends and engines look at; a run that it stops ends as `unknown`, never as a crash.
//!
//! An engine that does not look at the flag in time (a single long solver call),
//! or that goes on taking memory, is not waited for: the watch itself prints the
//! `unknown` and ends the process with its exit code. Memory is looked at every
//! few milliseconds, so a limit near all of the machine's memory is no promise.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use palisade_frontend::Stop;
use palisade_program::{Unknown, Verdict};

use palisade_report::usage;
/// How often the watch looks.
const PERIOD: Duration = Duration::from_millis(10);
/// How long engines have to notice the flag.
const PATIENCE: Duration = Duration::from_secs(2);

const RUNNING: u8 = 0;
const OUT_OF_TIME: u8 = 1;
const OUT_OF_MEMORY: u8 = 2;
const INTERRUPTED: u8 = 3;

/// What to do when the engine does not stop by itself: print this and exit.
type LastWords = Box<dyn FnOnce(Unknown) + Send>;

/// The limits of one run. Clones share them.
#[derive(Clone)]
pub(crate) struct Limits {
    /// Raised when the run should end; engines look at it.
    pub(crate) cancel: Arc<AtomicBool>,
    /// When time is up.
    pub(crate) deadline: Option<Instant>,
    /// How much memory the process may hold.
    pub(crate) memory: Option<u64>,
    /// How long a run may take.
    pub(crate) timeout: Option<Duration>,
    shared: Arc<Shared>,
    /// How often the user wants to stop: one for the process.
    signals: Arc<AtomicU32>,
}

struct Shared {
    reason: AtomicU8,
    finished: AtomicBool,
    last_words: Mutex<Option<LastWords>>,
}

impl Limits {
    /// Starts watching.
    pub(crate) fn watch(timeout: Option<Duration>, memory: Option<u64>) -> Self {
        let memory = memory.or_else(|| usage::machine_bytes().map(|bytes| bytes / 4 * 3));
        let signals = Arc::new(AtomicU32::new(0));
        let on_signal = Arc::clone(&signals);
        // Without a handler Ctrl-C ends the process as usual: worse, but no
        // reason to refuse to run.
        let _ = ctrlc::set_handler(move || {
            on_signal.fetch_add(1, Ordering::SeqCst);
        });
        Self::start(timeout, memory, signals)
    }

    /// The same limits for the next run of the process.
    pub(crate) fn renewed(&self) -> Self {
        Self::start(self.timeout, self.memory, Arc::clone(&self.signals))
    }

    fn start(timeout: Option<Duration>, memory: Option<u64>, signals: Arc<AtomicU32>) -> Self {
        let limits = Self {
            cancel: Arc::new(AtomicBool::new(false)),
            // A time too far away to be told is no limit.
            deadline: timeout.and_then(|timeout| Instant::now().checked_add(timeout)),
            memory,
            timeout,
            shared: Arc::new(Shared {
                reason: AtomicU8::new(RUNNING),
                finished: AtomicBool::new(false),
                last_words: Mutex::new(None),
            }),
            signals,
        };
        let watched = limits.clone();
        thread::spawn(move || watched.keep_watch());
        limits
    }

    /// What the watch says if the engine does not stop in time. The run must call
    /// [`Self::finish`] before it prints anything itself.
    pub(crate) fn set_last_words(&self, words: impl FnOnce(Unknown) + Send + 'static) {
        *self.last_words() = Some(Box::new(words));
    }

    /// The run is over and will print its own result: the watch keeps silent.
    pub(crate) fn finish(&self) {
        self.last_words().take();
        self.shared.finished.store(true, Ordering::SeqCst);
    }

    /// Why the run was stopped, if it was.
    pub(crate) fn stopped(&self) -> Option<Unknown> {
        match self.shared.reason.load(Ordering::SeqCst) {
            OUT_OF_TIME => Some(Unknown::Time),
            OUT_OF_MEMORY => Some(Unknown::Memory),
            INTERRUPTED => Some(Unknown::Interrupted),
            _ => None,
        }
    }

    /// The same for front ends.
    pub(crate) fn stop(&self) -> Stop {
        Stop::new(Arc::clone(&self.cancel), None)
    }

    /// Whether the user has stopped the process.
    pub(crate) fn was_interrupted(&self) -> bool {
        self.signals.load(Ordering::SeqCst) > 0
    }

    /// An engine that was cancelled cannot know by whom: puts in the reason.
    pub(crate) fn explain(&self, verdict: Verdict) -> Verdict {
        match (verdict, self.stopped()) {
            (Verdict::Unknown(Unknown::Interrupted), Some(why)) => Verdict::Unknown(why),
            (verdict, _) => verdict,
        }
    }

    fn last_words(&self) -> std::sync::MutexGuard<'_, Option<LastWords>> {
        let words = &self.shared.last_words;
        words.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keep_watch(&self) {
        let tripped = loop {
            if self.shared.finished.load(Ordering::SeqCst) {
                return;
            }
            if let Some(reason) = self.trip() {
                break reason;
            }
            thread::sleep(PERIOD);
        };
        self.shared.reason.store(tripped, Ordering::SeqCst);
        self.cancel.store(true, Ordering::SeqCst);
        let since = Instant::now();
        while !self.is_hopeless(since) {
            thread::sleep(PERIOD);
        }
        if let (Some(words), Some(why)) = (self.last_words().take(), self.stopped()) {
            words(why);
        }
    }

    /// The limit that is exceeded now.
    fn trip(&self) -> Option<u8> {
        if self.signals.load(Ordering::SeqCst) > 0 {
            return Some(INTERRUPTED);
        }
        if self.deadline.is_some_and(|at| Instant::now() >= at) {
            return Some(OUT_OF_TIME);
        }
        if self
            .memory
            .is_some_and(|limit| usage::resident_bytes() > limit)
        {
            return Some(OUT_OF_MEMORY);
        }
        None
    }

    /// Whether to end the process by force: patience is over, the user insists,
    /// or memory grows on.
    fn is_hopeless(&self, since: Instant) -> bool {
        let grows = self
            .memory
            .is_some_and(|limit| usage::resident_bytes() > limit / 8 * 9);
        since.elapsed() > PATIENCE || self.signals.load(Ordering::SeqCst) > 1 || grows
    }
}
