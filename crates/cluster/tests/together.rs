//! Processes (here: threads, over loopback) that search together find what one finds alone.

use std::thread;
use std::time::Duration;

use palisade_cluster::{ConnectError, Peers, free_addresses, run};
use palisade_frontend::pal;
use palisade_machine::{Exploration, Options, Storage, explore, explore_choosing_in};
use palisade_program::{Model, Program, Source, Unknown, Verdict};

const PETERSON: &str = "
shared flag[2] = 0;
shared turn = 0;
thread t[2] {
    local i = 0;
    while (i < 2) {
        flag[self] = 1;
        turn = 1 - self;
        while (flag[1 - self] == 1 && turn == 1 - self) { }
        critical: flag[self] = 0;
        i = i + 1;
    }
}
never t#1@critical && t#2@critical;";

fn program() -> Program {
    match pal::parse(Source::new("peterson.pal", PETERSON)) {
        Ok(parsed) => parsed.program,
        Err(diagnostics) => panic!("{diagnostics:?}"),
    }
}

pub(crate) fn peers(addresses: &[String], me: usize, question: u64) -> Peers {
    Peers {
        addresses: addresses.to_vec(),
        me,
        question,
        patience: Duration::from_secs(20),
    }
}

/// What each of `count` processes finds.
fn together(count: usize, model: Model) -> Vec<Exploration> {
    let addresses = free_addresses(count).unwrap();
    let handles: Vec<_> = (0..count)
        .map(|me| {
            let peers = peers(&addresses, me, 7);
            thread::spawn(move || {
                run(&peers, move |network| {
                    let mut storage = Storage::shared(network);
                    let found = explore_choosing_in(&program(), &Options::new(model), &mut storage);
                    found.unwrap().0
                })
                .unwrap()
            })
        })
        .collect();
    handles.into_iter().map(|h| h.join().unwrap()).collect()
}

#[test]
fn the_same_as_alone() {
    for model in [Model::Sc, Model::Tso] {
        let alone = explore(&program(), &Options::new(model)).unwrap();
        for count in [2, 3] {
            for found in together(count, model) {
                assert_eq!(found.verdict, alone.verdict);
                assert_eq!(found.witness, alone.witness);
                assert_eq!(found.stats.states, alone.stats.states);
                assert_eq!(found.stats.transitions, alone.stats.transitions);
            }
        }
    }
}

/// Speaks like process 1 to process 0, which is asked question 7, and goes away.
pub(crate) fn comes_and_goes(addresses: &[String]) {
    let mut socket = loop {
        match std::net::TcpStream::connect(&addresses[0]) {
            Ok(socket) => break socket,
            Err(_) => thread::sleep(Duration::from_millis(1)),
        }
    };
    let mut hello = b"palisade 0.1 c1\n".to_vec();
    hello.extend_from_slice(&1_u64.to_le_bytes());
    hello.extend_from_slice(&7_u64.to_le_bytes());
    std::io::Write::write_all(&mut socket, &hello).unwrap();
    let mut theirs = [0; 32];
    std::io::Read::read_exact(&mut socket, &mut theirs).unwrap();
    drop(socket);
}

#[test]
fn a_process_that_ends_is_lost() {
    let addresses = free_addresses(2).unwrap();
    let first = peers(&addresses, 0, 7);
    let handle = thread::spawn(move || {
        run(&first, move |network| {
            let mut storage = Storage::shared(network);
            let found = explore_choosing_in(&program(), &Options::new(Model::Tso), &mut storage);
            found.unwrap().0
        })
    });
    comes_and_goes(&addresses);
    let found = handle.join().unwrap().unwrap();
    let lost = Unknown::Lost("process 1 has ended".to_owned());
    assert_eq!(found.verdict, Verdict::Unknown(lost));
}

#[test]
fn another_question_is_refused() {
    let addresses = free_addresses(2).unwrap();
    let handles: Vec<_> = (0..2)
        .map(|me| {
            let peers = peers(&addresses, me, me as u64);
            thread::spawn(move || run(&peers, |_| ()))
        })
        .collect();
    for handle in handles {
        let refused = handle.join().unwrap().unwrap_err();
        assert!(matches!(refused, ConnectError::AnotherQuestion(..)));
    }
}

#[test]
fn a_process_that_does_not_come_is_named() {
    let addresses = free_addresses(2).unwrap();
    let mut alone = peers(&addresses, 0, 7);
    alone.patience = Duration::from_millis(100);
    let refused = run(&alone, |_| ()).unwrap_err();
    assert!(matches!(refused, ConnectError::Absent(1, _)));
}
