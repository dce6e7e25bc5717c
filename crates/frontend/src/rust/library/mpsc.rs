//! Channels. As in the standard library, a sender takes the next place, writes the value there and says that
//! it is there; the receiver looks at the places in order. So a value brings what its sender did before, and
//! nothing else orders senders and receiver, except that a sender waits for room where the channel is
//! bounded. Places are not used again: a channel carries [`MOST`] values in its life, and what sends more
//! is not followed.

use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use real::sync::Arc;
pub use real::sync::mpsc::{RecvError, RecvTimeoutError, SendError, TryRecvError, TrySendError};

use crate::ask::*;

const MOST: usize = 8;

struct Slot<T> {
    full: AtomicU32,
    value: UnsafeCell<MaybeUninit<T>>,
}

struct Channel<T> {
    slots: [Slot<T>; MOST],
    /// How many places are taken.
    taken: AtomicUsize,
    /// How many values were received, for senders that wait for room.
    received: AtomicUsize,
    senders: AtomicUsize,
    receiver: AtomicU32,
    /// How many values may wait.
    bound: usize,
}
unsafe impl<T: Send> Send for Channel<T> {}
unsafe impl<T: Send> Sync for Channel<T> {}

impl<T> Channel<T> {
    #[inline]
    fn new(bound: usize) -> Self {
        Self {
            slots: [const { Slot { full: AtomicU32::new(0), value: UnsafeCell::new(MaybeUninit::uninit()) } }; MOST],
            taken: AtomicUsize::new(0),
            received: AtomicUsize::new(0),
            senders: AtomicUsize::new(1),
            receiver: AtomicU32::new(1),
            bound,
        }
    }

    /// Sends if there is room, else gives the value back: `true` if there is a receiver.
    #[inline]
    fn offer(&self, value: T) -> Result<(), (bool, T)> {
        loop {
            if self.receiver.load(Ordering::Acquire) == 0 {
                return Err((false, value));
            }
            let place = self.taken.load(Ordering::Relaxed);
            if self.bound < MOST && place >= self.bound + self.received.load(Ordering::Acquire) {
                return Err((true, value));
            }
            if place >= MOST {
                unsafe { __palisade_many_values() };
            }
            if self.taken.compare_exchange(place, place + 1, Ordering::SeqCst, Ordering::Relaxed).is_ok() {
                let slot = &self.slots[place];
                unsafe { (*slot.value.get()).write(value) };
                slot.full.store(1, Ordering::Release);
                return Ok(());
            }
        }
    }

    #[inline]
    fn send(&self, mut value: T) -> Result<(), SendError<T>> {
        loop {
            match self.offer(value) {
                Ok(()) => return Ok(()),
                Err((false, value)) => return Err(SendError(value)),
                Err((true, back)) => value = back,
            }
        }
    }

    /// The value at a place, as soon as it is there.
    #[inline]
    fn take(&self, place: usize) -> Option<T> {
        if place >= MOST || self.taken.load(Ordering::SeqCst) <= place {
            return None;
        }
        let slot = &self.slots[place];
        while slot.full.load(Ordering::Acquire) == 0 {}
        let value = unsafe { (*slot.value.get()).assume_init_read() };
        self.received.store(place + 1, Ordering::Release);
        Some(value)
    }
}

impl<T> Drop for Channel<T> {
    #[inline]
    fn drop(&mut self) {
        let taken = *self.taken.get_mut();
        for place in *self.received.get_mut()..taken {
            unsafe { self.slots[place].value.get_mut().assume_init_drop() };
        }
    }
}

pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let channel = Arc::new(Channel::new(MOST));
    (Sender(Arc::clone(&channel)), Receiver { channel, next: UnsafeCell::new(0) })
}

pub fn sync_channel<T>(bound: usize) -> (SyncSender<T>, Receiver<T>) {
    if bound == 0 {
        unsafe { __palisade_rendezvous() };
    }
    let channel = Arc::new(Channel::new(bound));
    (SyncSender(Arc::clone(&channel)), Receiver { channel, next: UnsafeCell::new(0) })
}

macro_rules! sender {
    ($name:ident) => {
        pub struct $name<T>(Arc<Channel<T>>);
        impl<T> $name<T> {
            #[inline]
            pub fn send(&self, value: T) -> Result<(), SendError<T>> {
                self.0.send(value)
            }
        }
        impl<T> Clone for $name<T> {
            #[inline]
            fn clone(&self) -> Self {
                self.0.senders.fetch_add(1, Ordering::Relaxed);
                Self(Arc::clone(&self.0))
            }
        }
        impl<T> Drop for $name<T> {
            #[inline]
            fn drop(&mut self) {
                self.0.senders.fetch_sub(1, Ordering::AcqRel);
            }
        }
        impl<T> core::fmt::Debug for $name<T> {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str(stringify!($name))
            }
        }
    };
}
sender!(Sender);
sender!(SyncSender);

impl<T> SyncSender<T> {
    #[inline]
    pub fn try_send(&self, value: T) -> Result<(), TrySendError<T>> {
        self.0.offer(value).map_err(|(alive, value)| match alive {
            true => TrySendError::Full(value),
            false => TrySendError::Disconnected(value),
        })
    }
}

pub struct Receiver<T> {
    channel: Arc<Channel<T>>,
    next: UnsafeCell<usize>,
}
unsafe impl<T: Send> Send for Receiver<T> {}

impl<T> Receiver<T> {
    #[inline]
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        let next = unsafe { *self.next.get() };
        // Nobody can send once all senders are gone, so that a last look decides.
        let senders = self.channel.senders.load(Ordering::Acquire);
        match self.channel.take(next) {
            Some(value) => {
                unsafe { *self.next.get() = next + 1 };
                Ok(value)
            }
            None if senders == 0 => Err(TryRecvError::Disconnected),
            None => Err(TryRecvError::Empty),
        }
    }
    #[inline]
    pub fn recv(&self) -> Result<T, RecvError> {
        loop {
            match self.try_recv() {
                Ok(value) => return Ok(value),
                Err(TryRecvError::Disconnected) => return Err(RecvError),
                Err(TryRecvError::Empty) => {}
            }
        }
    }
    /// Time may pass or not.
    #[inline]
    pub fn recv_timeout(&self, _: real::time::Duration) -> Result<T, RecvTimeoutError> {
        loop {
            match self.try_recv() {
                Ok(value) => return Ok(value),
                Err(TryRecvError::Disconnected) => return Err(RecvTimeoutError::Disconnected),
                Err(TryRecvError::Empty) if unsafe { __palisade_choose() } => return Err(RecvTimeoutError::Timeout),
                Err(TryRecvError::Empty) => {}
            }
        }
    }
    #[inline]
    pub fn iter(&self) -> Iter<'_, T> {
        Iter(self)
    }
    #[inline]
    pub fn try_iter(&self) -> TryIter<'_, T> {
        TryIter(self)
    }
}

impl<T> Drop for Receiver<T> {
    #[inline]
    fn drop(&mut self) {
        self.channel.receiver.store(0, Ordering::Release);
    }
}

impl<T> core::fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Receiver")
    }
}

pub struct Iter<'a, T>(&'a Receiver<T>);
impl<T> Iterator for Iter<'_, T> {
    type Item = T;
    #[inline]
    fn next(&mut self) -> Option<T> {
        self.0.recv().ok()
    }
}

pub struct TryIter<'a, T>(&'a Receiver<T>);
impl<T> Iterator for TryIter<'_, T> {
    type Item = T;
    #[inline]
    fn next(&mut self) -> Option<T> {
        self.0.try_recv().ok()
    }
}

pub struct IntoIter<T>(Receiver<T>);
impl<T> Iterator for IntoIter<T> {
    type Item = T;
    #[inline]
    fn next(&mut self) -> Option<T> {
        self.0.recv().ok()
    }
}

impl<'a, T> IntoIterator for &'a Receiver<T> {
    type Item = T;
    type IntoIter = Iter<'a, T>;
    #[inline]
    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}

impl<T> IntoIterator for Receiver<T> {
    type Item = T;
    type IntoIter = IntoIter<T>;
    #[inline]
    fn into_iter(self) -> IntoIter<T> {
        IntoIter(self)
    }
}
