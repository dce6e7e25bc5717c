//! The ticket lock with unbounded counters, proved by hand under SC, TSO and
//! PSO. Its invariant relates the locals of two threads and the value of a
//! buffered store: every conjunct is needed, and each one that is removed makes
//! the check refuse.

use crate::support;

use palisade_certify::*;
use palisade_logic::{Formula, Term};
use palisade_program::*;
use support::build::*;

const NEXT: u32 = 0;
const SERVING: u32 = 1;

/// 0: take a ticket r; 1: s = serving; 2: wait for s == r; 3: critical section,
/// then serving = r + 1.
fn ticket_lock() -> Program {
    let take = atomic(
        3,
        vec![
            (0, load(0, NEXT), 1),
            (1, store(NEXT, bin(BinOp::Add, r(0), k(1))), 2),
        ],
    );
    let code = vec![
        (0, take, 1),
        (1, load(1, SERVING), 2),
        (2, assume(bin(BinOp::Eq, r(1), r(0))), 3),
        (2, assume(bin(BinOp::Ne, r(1), r(0))), 1),
        (3, store(SERVING, bin(BinOp::Add, r(0), k(1))), 0),
        (0, Step::Skip, 4),
    ];
    let globals = vec![
        global("next", Init::Value(0)),
        global("serving", Init::Value(0)),
    ];
    let exclusion = never(
        vec![any(0, 1), any(0, 2)],
        pbin(BinOp::And, at(0, 3), at(1, 3)),
    );
    let thread = thread("t", Count::Fixed(2), &["r", "s"], 5, code);
    program(globals, vec![thread], vec![exclusion])
}

fn term(var: StateVar) -> Term {
    Term::var(var.var().expect("small"))
}

fn own(thread: u32, local: u32) -> Term {
    let local = LocalId(local);
    term(StateVar::Local { thread, local })
}

fn cell(id: u32) -> Term {
    term(StateVar::Cell(Cell(id)))
}

/// The value of the pending store to `serving`.
fn slot(model: Model, thread: u32) -> Term {
    let cell = Cell(SERVING);
    term(match model {
        Model::Pso => StateVar::CellSlot {
            thread,
            cell,
            position: 0,
        },
        Model::Sc | Model::Tso | Model::Rma | Model::Rc11 => StateVar::Slot {
            thread,
            position: 0,
        },
    })
}

struct Proof {
    certificate: Certificate,
}

impl Proof {
    fn atom(&mut self, atom: Formula) -> (u32, bool) {
        let atoms = &mut self.certificate.atoms;
        let known = atoms.iter().position(|a| *a == atom);
        let at = known.unwrap_or_else(|| {
            atoms.push(atom);
            atoms.len() - 1
        });
        (at as u32, true)
    }

    /// What holds with the threads at these locations, `pending` naming a thread
    /// whose store to `serving` is buffered; `None` where that cannot be.
    fn cube(&mut self, model: Model, locs: [u32; 2], pending: Option<u32>) -> Option<Cube> {
        let le = |a: &Term, b: &Term| Formula::le(a, b).expect("small");
        let (next, serving) = (cell(NEXT), cell(SERVING));
        let waits = |loc: u32| (1..=3).contains(&loc);
        // The first ticket that may still be served.
        let first = pending.map_or(serving.clone(), |t| slot(model, t));
        let mut facts = Vec::new();
        // Follows where a thread waits, and is of no use once both have ended.
        if !waits(locs[0]) && !waits(locs[1]) && locs != [4, 4] {
            facts.push(le(&first, &next));
        }
        if let Some(thread) = pending {
            let (own_loc, other) = (locs[thread as usize], locs[1 - thread as usize]);
            // The lock's next step needs an empty buffer; and the other thread
            // cannot be served while the hand-over is on its way.
            if !matches!(own_loc, 0 | 4) || other == 3 {
                return None;
            }
            if other != 4 {
                facts.push(Formula::lt(&serving, &first).expect("small"));
            }
        }
        for thread in 0..2 {
            let (ticket, seen) = (own(thread, 0), own(thread, 1));
            let (loc, other) = (locs[thread as usize], locs[1 - thread as usize]);
            // Whoever is served has a smaller ticket than one who still waits.
            if matches!(loc, 1 | 2) || loc == 3 && !waits(other) {
                facts.push(Formula::lt(&ticket, &next).expect("small"));
            }
            match loc {
                1 | 2 => facts.push(le(&first, &ticket)),
                3 if other != 4 => facts.push(Formula::eq(&ticket, &serving).expect("small")),
                _ => {}
            }
            if loc == 2 && (other != 4 || pending.is_some()) {
                facts.push(le(&seen, &serving));
            }
        }
        if locs == [3, 3] {
            return None;
        }
        if waits(locs[0]) && waits(locs[1]) {
            facts.push(Formula::ne(&own(0, 0), &own(1, 0)).expect("small"));
        }
        let literals = facts.into_iter().map(|fact| match fact {
            Formula::Literal(literal) if !literal.positive => {
                let atom = Formula::Literal(literal.negated());
                (self.atom(atom).0, false)
            }
            fact => self.atom(fact),
        });
        Some(Cube(literals.collect()))
    }
}

fn proof(program: &Program, model: Model) -> Certificate {
    let fingerprint = Fingerprint::of(program, model, 0);
    let certificate = Certificate::empty(fingerprint, Kind::Inductive, model, 0);
    let mut proof = Proof { certificate };
    let pending: &[Option<u32>] = match model {
        Model::Sc | Model::Rma | Model::Rc11 => &[None],
        Model::Tso | Model::Pso => &[None, Some(0), Some(1)],
    };
    for code in 0..25 {
        let locs = [code / 5, code % 5];
        for pending in pending {
            let Some(cube) = proof.cube(model, locs, *pending) else {
                continue;
            };
            let mut buffers = vec![Buffer::default(); 2];
            if let Some(thread) = pending {
                buffers[*thread as usize] = Buffer::exact(vec![Item::Store(Cell(SERVING))]);
            }
            let locs = locs.map(LocId).to_vec();
            let values = Vec::new();
            let control = Control {
                locs,
                buffers,
                values,
            };
            let cubes = vec![cube];
            proof.certificate.entries.push(Entry { control, cubes });
        }
    }
    proof.certificate
}

fn accepted(program: &Program, certificate: &Certificate) -> Result<Checked, Refusal> {
    check(program, certificate, &Options::default())
}

const MODELS: [Model; 3] = [Model::Sc, Model::Tso, Model::Pso];

#[test]
fn the_proof_is_accepted_under_every_model() {
    let program = ticket_lock();
    for model in MODELS {
        let certificate = proof(&program, model);
        let checked = accepted(&program, &certificate).unwrap_or_else(|r| panic!("{model}: {r}"));
        assert!(checked.solver_calls > 0 && checked.obligations > checked.solver_calls);
        println!("{model}: {checked:?}");
    }
}

#[test]
fn every_conjunct_is_needed() {
    let program = ticket_lock();
    for model in MODELS {
        let certificate = proof(&program, model);
        assert!(accepted(&program, &certificate).is_ok(), "{model}");
        let mut superfluous = Vec::new();
        for (i, entry) in certificate.entries.iter().enumerate() {
            for j in 0..entry.cubes[0].0.len() {
                let mut weaker = certificate.clone();
                weaker.entries[i].cubes[0].0.remove(j);
                if accepted(&program, &weaker).is_ok() {
                    superfluous.push((i, j));
                }
            }
        }
        assert_eq!(superfluous, [], "{model}");
    }
}

#[test]
fn every_entry_is_needed() {
    let program = ticket_lock();
    for model in MODELS {
        let certificate = proof(&program, model);
        assert!(accepted(&program, &certificate).is_ok(), "{model}");
        for i in 0..certificate.entries.len() {
            let mut smaller = certificate.clone();
            smaller.entries.remove(i);
            assert!(accepted(&program, &smaller).is_err(), "{model}, entry {i}");
        }
    }
}

#[test]
fn stronger_and_weaker_atoms_are_refused() {
    let program = ticket_lock();
    for model in MODELS {
        let certificate = proof(&program, model);
        assert!(accepted(&program, &certificate).is_ok(), "{model}");
        for i in 0..certificate.atoms.len() {
            for shift in [-1, 1] {
                let mut changed = certificate.clone();
                let Formula::Literal(literal) = &certificate.atoms[i] else {
                    panic!("an atom");
                };
                let term = literal.atom.term().plus_constant(shift).expect("small");
                changed.atoms[i] = Formula::compare(&term, literal.atom.relation()).expect("small");
                let name = certificate.atoms[i].to_string();
                assert!(
                    accepted(&program, &changed).is_err(),
                    "{model}: {name} {shift}"
                );
            }
        }
    }
}

#[test]
fn a_proof_for_sc_is_none_for_tso() {
    let program = ticket_lock();
    let mut certificate = proof(&program, Model::Sc);
    certificate.model = Model::Tso;
    let reason = |c: &Certificate| accepted(&program, c).map_err(|r| r.reason);
    assert_eq!(reason(&certificate), Err(Reason::Fingerprint));
    certificate.fingerprint = Fingerprint::of(&program, Model::Tso, 0);
    // The store goes to a buffer, and no entry has one.
    let refusal = accepted(&program, &certificate).expect_err("a store is buffered");
    assert_eq!(refusal.reason, Reason::NotClosed);
    assert!(refusal.to_string().contains("serving = r + 1"), "{refusal}");
}

#[test]
fn the_text_is_read_back() {
    let program = ticket_lock();
    for model in MODELS {
        let certificate = proof(&program, model);
        let text = print(&program, &certificate);
        assert_eq!(parse(&program, &text).as_ref(), Ok(&certificate), "{text}");
    }
    let text = print(&program, &proof(&program, Model::Tso));
    for line in [
        "model tso\n",
        ": next < t[0].buf[0]\n",
        "at t[0]@0 t[1]@0 buffers t[0](serving): !p1 & p2\n",
        ": t[0].r = t[1].r\n",
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
}
