//! Several processes that search together, on *timely dataflow* [Murray et al., SOSP 2013].
//!
//! The machine's search needs messages, and rounds that end for all processes at once
//! ([`Network`]). Here a round is a time of a dataflow with one channel: a message is sent at the
//! time of its round, and the round has ended when timely's progress tracking says that no
//! process can send at that time any more and nothing sent at it is under way. A process may run
//! ahead by one round; its messages wait until the receiver gets there.
//!
//! | file | term |
//! |---|---|
//! | `connect` | sockets between all pairs, and the handshake |
//! | `watched` | sockets that tell when a process is lost |
//! | `letter` | messages as timely carries them |
//! | `work` | work items, handed out by process 0 |

mod connect;
mod letter;
mod watched;
mod work;

use std::cell::RefCell;
use std::io;
use std::net::{Shutdown, TcpStream};
use std::rc::Rc;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use palisade_machine::{Lost, Network};
use timely::WorkerConfig;
use timely::communication::Hooks;
use timely::communication::allocator::zero_copy::initialize::initialize_networking_from_sockets;
use timely::communication::allocator::{AllocatorBuilder, ProcessBuilder};
use timely::container::NoopBuilder;
use timely::dataflow::ProbeHandle;
use timely::dataflow::channels::pact::DistributorPact;
use timely::dataflow::operators::core::input::Handle;
use timely::dataflow::operators::generic::operator::Operator;
use timely::dataflow::operators::probe::Probe;
use timely::worker::Worker;

pub use connect::{ConnectError, Peers, free_addresses};
use letter::{Letter, Post};
use watched::Fate;
pub use work::work;

/// How long a worker sleeps before it asks whether a process was lost.
const PATIENCE: Duration = Duration::from_millis(20);

/// How long the first process that closes its sockets is ahead of the last, at most.
const FAREWELL: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(1);

/// Connects to the other processes and calls `f` on the network of all of them.
///
/// # Errors
/// Some process cannot be reached, or asks another question. What happens later is the business
/// of `f`: it gets [`Lost`] from the network.
pub fn run<T, F>(peers: &Peers, f: F) -> Result<T, ConnectError>
where
    T: Send + 'static,
    F: FnOnce(Box<dyn Network + '_>) -> T + Send + 'static,
{
    let fate = Arc::new(Fate::default());
    let sockets = connect::connect(peers)?;
    let own = sockets.iter().flatten().map(TcpStream::try_clone);
    let own: Vec<TcpStream> = own
        .collect::<io::Result<_>>()
        .map_err(ConnectError::Threads)?;
    let sockets = sockets.into_iter().enumerate();
    let sockets = sockets
        .map(|(process, socket)| socket.map(|socket| fate.watch(socket, process)))
        .collect();
    let inside = ProcessBuilder::new_typed_vector(1, Hooks::default().refill, None);
    let (builders, threads) =
        initialize_networking_from_sockets(inside, sockets, peers.me, 1, Hooks::default())
            .map_err(ConnectError::Threads)?;
    let builders = builders.into_iter().map(AllocatorBuilder::Tcp).collect();
    let (sender, receiver) = channel();
    let task = Mutex::new(Some((f, sender)));
    let of_worker = Arc::clone(&fate);
    let work = move |worker: &mut Worker| {
        let task = task.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some((f, sender)) = task {
            let fate = Arc::clone(&of_worker);
            let result = f(Box::new(Rounds::new(worker, fate)));
            // The receiver waits for exactly this.
            let _ = sender.send(result);
        }
    };
    let others = Box::new(threads);
    let guards = timely::execute::execute_from(builders, others, WorkerConfig::default(), work)
        .map_err(ConnectError::Worker)?;
    let Ok(result) = receiver.recv() else {
        std::mem::forget(guards);
        return Err(ConnectError::Worker("the search panicked".to_owned()));
    };
    wait_for_others(&fate, own.len());
    std::mem::forget(guards);
    for socket in own {
        // It may be closed already.
        let _ = socket.shutdown(Shutdown::Both);
    }
    Ok(result)
}

/// Waits until all other processes have closed their sockets: they do when they have got all that
/// this one sent. Timely's last messages may come with the end of a socket, and are not read then; and
/// after a process was killed the others cannot end in order: from the first that closes, a moment
/// is enough for what is under way. Timely's threads sleep until the process ends.
fn wait_for_others(fate: &Fate, others: usize) {
    let mut left = FAREWELL;
    while fate.closed() < others && !left.is_zero() {
        std::thread::sleep(PAUSE);
        if fate.closed() > 0 || fate.lost().is_some() {
            left = left.saturating_sub(PAUSE);
        }
    }
}

/// What has arrived, with its round.
type Inbox = Vec<(u64, Vec<u8>)>;

/// See the header.
struct Rounds<'w> {
    worker: &'w mut Worker,
    input: Handle<u64, NoopBuilder<Letter>>,
    probe: ProbeHandle<u64>,
    inbox: Rc<RefCell<Inbox>>,
    round: u64,
    fate: Arc<Fate>,
}

impl<'w> Rounds<'w> {
    fn new(worker: &'w mut Worker, fate: Arc<Fate>) -> Self {
        let mut input: Handle<u64, NoopBuilder<Letter>> = Handle::new_with_builder();
        let probe = ProbeHandle::new();
        let inbox = Rc::new(RefCell::new(Vec::new()));
        let arrived = Rc::clone(&inbox);
        worker.dataflow(|scope| {
            let letters = input.to_stream(scope);
            let pact = DistributorPact(|_peers| Post);
            letters
                .unary::<NoopBuilder<Letter>, _, _, _>(pact, "arrive", |_, _| {
                    move |input, _output| {
                        input.for_each(|time, letter: &mut Letter| {
                            let message = std::mem::take(letter).message;
                            arrived.borrow_mut().push((*time.time(), message));
                        });
                    }
                })
                .probe_with(&probe);
        });
        Self {
            worker,
            input,
            probe,
            inbox,
            round: 0,
            fate,
        }
    }

    fn check(&self) -> Result<(), Lost> {
        match self.fate.lost() {
            Some(process) => Err(Lost(format!("process {process} has ended"))),
            None => Ok(()),
        }
    }

    /// The messages of the present round.
    fn take(&mut self) -> Vec<Vec<u8>> {
        let mut inbox = self.inbox.borrow_mut();
        let all = std::mem::take(&mut *inbox);
        let (now, later): (Vec<_>, Vec<_>) = all.into_iter().partition(|(r, _)| *r == self.round);
        *inbox = later;
        now.into_iter().map(|(_, message)| message).collect()
    }
}

impl Network for Rounds<'_> {
    fn me(&self) -> usize {
        self.worker.index()
    }

    fn peers(&self) -> usize {
        self.worker.peers()
    }

    fn send(&mut self, to: usize, message: Vec<u8>) {
        let mut letter = Letter::new(to, message);
        self.input.send_batch(&mut letter);
    }

    fn received(&mut self) -> Result<Vec<Vec<u8>>, Lost> {
        self.worker.step();
        self.check()?;
        Ok(self.take())
    }

    fn end_round(&mut self) -> Result<Vec<Vec<u8>>, Lost> {
        let next = self.round + 1;
        self.input.advance_to(next);
        while self.probe.less_than(&next) {
            self.worker.step_or_park(Some(PATIENCE));
            self.check()?;
        }
        let messages = self.take();
        self.round = next;
        Ok(messages)
    }
}

impl Drop for Rounds<'_> {
    fn drop(&mut self) {
        // From here on, others may end.
        self.fate.end();
    }
}
