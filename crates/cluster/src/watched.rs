//! Sockets that tell when the process at the other end is lost. Timely's threads panic then; a
//! *watched* socket notes the loss and lets its thread sleep, and the search ends with a reason.
//! At the end of all, when processes close their sockets in order, it does the same: from what is
//! read nobody could tell a process that has ended from one that was killed at its very end.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use timely::communication::allocator::zero_copy::stream::Stream;

const NOBODY: usize = usize::MAX;

/// Which process was lost, if one was.
#[derive(Debug)]
pub(crate) struct Fate {
    lost: AtomicUsize,
    /// Whether this process needs the others no more.
    ends: AtomicBool,
    /// How many processes have closed their sockets.
    closed: AtomicUsize,
}

impl Default for Fate {
    fn default() -> Self {
        Self {
            lost: AtomicUsize::new(NOBODY),
            ends: AtomicBool::new(false),
            closed: AtomicUsize::new(0),
        }
    }
}

impl Fate {
    /// A process that was lost before the end.
    pub(crate) fn lost(&self) -> Option<usize> {
        let lost = self.lost.load(Ordering::SeqCst);
        (lost != NOBODY).then_some(lost)
    }

    /// From now on processes may end.
    pub(crate) fn end(&self) {
        self.ends.store(true, Ordering::SeqCst);
    }

    /// How many processes have closed their sockets.
    pub(crate) fn closed(&self) -> usize {
        self.closed.load(Ordering::SeqCst)
    }

    /// Watches the socket to `process`.
    pub(crate) fn watch(self: &Arc<Self>, stream: TcpStream, process: usize) -> Watched {
        Watched {
            stream,
            process,
            fate: Arc::clone(self),
        }
    }
}

/// See the header.
pub(crate) struct Watched {
    stream: TcpStream,
    process: usize,
    fate: Arc<Fate>,
}

impl Watched {
    /// Nothing comes from there, or goes there, any more.
    fn lose(&self) -> ! {
        if !self.fate.ends.load(Ordering::SeqCst) {
            self.fate.lost.store(self.process, Ordering::SeqCst);
        }
        loop {
            std::thread::park();
        }
    }
}

impl Read for Watched {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.stream.read(buffer);
        if matches!(read, Ok(0) | Err(_)) {
            self.fate.closed.fetch_add(1, Ordering::SeqCst);
            self.lose();
        }
        read
    }
}

impl Write for Watched {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let written = self.stream.write(buffer);
        if written.is_err() {
            self.lose();
        }
        written
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

impl Stream for Watched {
    fn try_clone(&self) -> io::Result<Self> {
        Ok(self.fate.watch(self.stream.try_clone()?, self.process))
    }

    fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        self.stream.set_nonblocking(nonblocking)
    }

    fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        self.stream.shutdown(how)
    }
}
