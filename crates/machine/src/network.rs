//! What several processes that search together need of each other: messages, and *rounds* that
//! end for all of them at once. How messages travel is somebody else's business
//! (`crates/cluster`).

/// Another process cannot be reached any more.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct Lost(pub String);

/// Processes numbered from 0.
///
/// Law: the messages that one round gives to a process, by [`received`](Network::received) and
/// [`end_round`](Network::end_round), are those that were sent to it in that round, each once, in
/// any order; and `end_round` returns when all processes have called it.
pub trait Network {
    /// The number of this process.
    fn me(&self) -> usize;
    /// How many processes there are.
    fn peers(&self) -> usize;
    /// Sends a message to another process.
    fn send(&mut self, to: usize, message: Vec<u8>);
    /// Messages of this round that have arrived.
    ///
    /// # Errors
    /// A process was lost.
    fn received(&mut self) -> Result<Vec<Vec<u8>>, Lost>;
    /// Ends the round: the messages that have arrived since [`received`](Network::received).
    ///
    /// # Errors
    /// A process was lost.
    fn end_round(&mut self) -> Result<Vec<Vec<u8>>, Lost>;
}

/// A process alone.
#[derive(Clone, Copy, Default, Debug)]
pub struct Alone;

impl Network for Alone {
    fn me(&self) -> usize {
        0
    }

    fn peers(&self) -> usize {
        1
    }

    fn send(&mut self, _to: usize, _message: Vec<u8>) {
        unreachable!("there is nobody to send to");
    }

    fn received(&mut self) -> Result<Vec<Vec<u8>>, Lost> {
        Ok(Vec::new())
    }

    fn end_round(&mut self) -> Result<Vec<Vec<u8>>, Lost> {
        Ok(Vec::new())
    }
}

/// Tells all processes one message each; theirs, in the order of processes. It is a round.
pub(crate) fn gather(network: &mut dyn Network, message: Vec<u8>) -> Result<Vec<Vec<u8>>, Lost> {
    let (me, peers) = (network.me(), network.peers());
    let mut all = vec![Vec::new(); peers];
    for to in (0..peers).filter(|&to| to != me) {
        let mut named = (me as u32).to_le_bytes().to_vec();
        named.extend_from_slice(&message);
        network.send(to, named);
    }
    for named in network.end_round()? {
        if let Some((from, rest)) = named.split_first_chunk::<4>()
            && let Some(place) = all.get_mut(u32::from_le_bytes(*from) as usize)
        {
            *place = rest.to_vec();
        }
    }
    all[me] = message;
    Ok(all)
}
