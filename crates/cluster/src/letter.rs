//! Messages as timely carries them: one *letter* is one container, so that nothing is copied
//! element by element.

use std::io::Write;

use timely::Accountable;
use timely::bytes::arc::Bytes;
use timely::communication::Push;
use timely::dataflow::channels::pushers::exchange::Distributor;
use timely::dataflow::channels::{ContainerBytes, Message};

/// A message and the process that it is for.
#[derive(Clone, Default, Debug)]
pub(crate) struct Letter {
    to: u64,
    pub(crate) message: Vec<u8>,
    /// 1, or 0 for what timely makes by itself.
    count: u8,
}

impl Letter {
    pub(crate) fn new(to: usize, message: Vec<u8>) -> Self {
        Self {
            to: to as u64,
            message,
            count: 1,
        }
    }
}

impl Accountable for Letter {
    fn record_count(&self) -> i64 {
        i64::from(self.count)
    }
}

/// Process, count, length, message; up to a multiple of eight bytes.
impl ContainerBytes for Letter {
    fn from_bytes(bytes: Bytes) -> Self {
        let number = |at: usize| {
            let bytes = bytes[at..at + 8].iter().rev();
            bytes.fold(0_u64, |n, &b| n << 8 | u64::from(b))
        };
        Self {
            to: number(0),
            count: number(8) as u8,
            message: bytes[24..24 + number(16) as usize].to_vec(),
        }
    }

    fn length_in_bytes(&self) -> usize {
        24 + self.message.len().next_multiple_of(8)
    }

    fn into_bytes<W: Write>(&self, writer: &mut W) {
        let length = self.message.len() as u64;
        let padding = self.message.len().next_multiple_of(8) - self.message.len();
        let head = [self.to, u64::from(self.count), length];
        let written = head
            .iter()
            .try_for_each(|n| writer.write_all(&n.to_le_bytes()))
            .and_then(|()| writer.write_all(&self.message))
            .and_then(|()| writer.write_all(&[0; 8][..padding]));
        written.expect("timely hands a buffer of the length that was asked for");
    }
}

/// Brings each letter to the process on it.
pub(crate) struct Post;

impl Distributor<Letter> for Post {
    fn partition<T: Clone, P: Push<Message<T, Letter>>>(
        &mut self,
        letter: &mut Letter,
        time: &T,
        pushers: &mut [P],
    ) {
        let to = letter.to as usize;
        Message::push_at(letter, time.clone(), &mut pushers[to]);
    }

    fn flush<T: Clone, P: Push<Message<T, Letter>>>(&mut self, _time: &T, _pushers: &mut [P]) {}
}
