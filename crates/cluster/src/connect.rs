//! Sockets between all pairs of processes. Each process listens at its own address, connects to
//! those before it, and waits for those after it. Both ends say who they are and what they are
//! asked; processes that are asked different things do not search together.
//!
//! Nothing is encrypted and nobody has to prove who they are: the network must be trusted.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// First bytes of a handshake: the version of everything that processes tell each other.
const MAGIC: &[u8; 16] = b"palisade 0.1 c1\n";
/// How long a process that is there has to say who it is.
const HANDSHAKE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(10);

/// The processes of a search.
#[derive(Clone, Debug)]
pub struct Peers {
    /// The address of each: `host:port`.
    pub addresses: Vec<String>,
    /// Which one this process is.
    pub me: usize,
    /// What is asked, in some digest: all must be asked the same.
    pub question: u64,
    /// How long to wait for the others.
    pub patience: Duration,
}

/// Why processes do not come together.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// This process cannot listen at its address.
    #[error("cannot listen at {0}: {1}")]
    Listen(String, io::Error),
    /// Another process did not come.
    #[error("process {0} ({1}) is not there")]
    Absent(usize, String),
    /// Another process searches for something else, or is of another version.
    #[error("process {0} ({1}) is asked something else, or is another version of palisade")]
    AnotherQuestion(usize, String),
    /// Threads for the sockets cannot be made.
    #[error("cannot serve the sockets: {0}")]
    Threads(io::Error),
    /// The worker failed.
    #[error("{0}")]
    Worker(String),
}

impl ConnectError {
    /// What to do about it.
    pub fn help(&self) -> &'static str {
        match self {
            Self::Listen(..) => "line I of --cluster must be an address of process I's machine",
            Self::Absent(..) => "start all processes at about the same time, one for each line",
            Self::AnotherQuestion(..) => "start all processes with the same program and options",
            Self::Threads(_) | Self::Worker(_) => "start all processes again",
        }
    }
}

/// Addresses on this machine that nobody listens at now.
///
/// # Errors
/// There is none.
pub fn free_addresses(count: usize) -> io::Result<Vec<String>> {
    let listeners = (0..count).map(|_| TcpListener::bind("127.0.0.1:0"));
    let listeners: Vec<TcpListener> = listeners.collect::<io::Result<_>>()?;
    let addresses = listeners.iter().map(TcpListener::local_addr);
    addresses.map(|a| a.map(|a| a.to_string())).collect()
}

/// A socket to each other process.
pub(crate) fn connect(peers: &Peers) -> Result<Vec<Option<TcpStream>>, ConnectError> {
    let until = Instant::now() + peers.patience;
    let mut sockets: Vec<Option<TcpStream>> = peers.addresses.iter().map(|_| None).collect();
    let own = &peers.addresses[peers.me];
    let listen = |error| ConnectError::Listen(own.clone(), error);
    let listener = TcpListener::bind(own).map_err(listen)?;
    listener.set_nonblocking(true).map_err(listen)?;
    for (process, socket) in sockets.iter_mut().enumerate().take(peers.me) {
        *socket = Some(reach(peers, process, until)?);
    }
    while let Some(missing) = missing(&sockets, peers.me) {
        if let Ok((mut socket, _)) = listener.accept() {
            // Whoever does not speak our language is not a process of ours.
            let Ok((process, question)) = greeted(&mut socket, peers) else {
                continue;
            };
            if process <= peers.me || process >= sockets.len() {
                continue;
            }
            if question != peers.question {
                return Err(another(peers, process));
            }
            sockets[process] = Some(socket);
        } else if Instant::now() > until {
            return Err(absent(peers, missing));
        } else {
            std::thread::sleep(PAUSE);
        }
    }
    Ok(sockets)
}

fn missing(sockets: &[Option<TcpStream>], me: usize) -> Option<usize> {
    (0..sockets.len()).find(|&process| process != me && sockets[process].is_none())
}

fn absent(peers: &Peers, process: usize) -> ConnectError {
    ConnectError::Absent(process, peers.addresses[process].clone())
}

fn another(peers: &Peers, process: usize) -> ConnectError {
    ConnectError::AnotherQuestion(process, peers.addresses[process].clone())
}

/// Connects to a process before this one.
fn reach(peers: &Peers, process: usize, until: Instant) -> Result<TcpStream, ConnectError> {
    loop {
        if let Ok(mut socket) = TcpStream::connect(&peers.addresses[process])
            && let Ok((found, question)) = greeted(&mut socket, peers)
        {
            if found != process || question != peers.question {
                return Err(another(peers, process));
            }
            return Ok(socket);
        }
        if Instant::now() > until {
            return Err(absent(peers, process));
        }
        std::thread::sleep(PAUSE);
    }
}

/// Says who we are; who the other is, and what it is asked.
fn greeted(socket: &mut TcpStream, peers: &Peers) -> io::Result<(usize, u64)> {
    socket.set_nonblocking(false)?;
    socket.set_nodelay(true)?;
    socket.set_read_timeout(Some(HANDSHAKE))?;
    let mut hello = MAGIC.to_vec();
    hello.extend_from_slice(&(peers.me as u64).to_le_bytes());
    hello.extend_from_slice(&peers.question.to_le_bytes());
    socket.write_all(&hello)?;
    let mut theirs = [0; 32];
    socket.read_exact(&mut theirs)?;
    socket.set_read_timeout(None)?;
    let (magic, numbers) = theirs.split_at(16);
    if magic != MAGIC {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let (process, question) = numbers.split_at(8);
    let number = |bytes: &[u8]| {
        let bytes = bytes.iter().rev();
        bytes.fold(0_u64, |n, &b| n << 8 | u64::from(b))
    };
    Ok((number(process) as usize, number(question)))
}
