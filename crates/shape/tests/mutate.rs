//! No panic on any input: the examples with words left out, doubled, exchanged or put in.
//!
//! Random texts hardly get past the parser ([`input`](../input.rs) has those); texts close to a
//! model do, and reach the engine. `PALISADE_SOAK=N` tries N of them.

use palisade_shape::analysis::{Input, Options, analyse};
use std::fs;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/shape")
}

fn load(path: &str, _: &str) -> Option<(String, String)> {
    let text = fs::read_to_string(folder().join(path)).ok()?;
    Some((path.to_owned(), text))
}

/// The numbers of a linear congruence.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit.max(1)
    }
}

/// Words, signs and blanks, one after another.
fn words(text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let word = |c: char| c.is_alphanumeric() || c == '_' || c == '%';
        let end = if word(first) {
            rest.find(|c| !word(c)).unwrap_or(rest.len())
        } else {
            first.len_utf8()
        };
        out.push(&rest[..end]);
        rest = &rest[end..];
    }
    out
}

/// Words that mean something to the languages.
const KNOWN: [&str; 46] = [
    "%p",
    "%i",
    "%r",
    "%f",
    "%s",
    "%n",
    "%t",
    "%new",
    "%clone",
    "%retain",
    "%message",
    "%action",
    "%thread",
    "%start",
    "%stop",
    "%halt",
    "%newthread",
    "%%",
    "foreach",
    "atomic",
    "unique",
    "function",
    "invfunction",
    "transitive",
    "reflexive",
    "TC",
    "E(v)",
    "A(v)",
    "1/2",
    "sm",
    "ac",
    "*",
    "!",
    "isNew",
    "instance",
    "tr",
    "runnable",
    "at[",
    "%assert",
    "%hardassert",
    "%wait",
    "%explicitat",
    "auto",
    "|/{",
    "\n#if ",
    "\u{e9}",
];

fn mutated(text: &str, random: &mut Random) -> String {
    let mut list = words(text);
    for _ in 0..=random.below(3) {
        let at = random.below(list.len());
        let from = random.below(list.len());
        let other = list[from];
        match random.below(7) {
            0 => drop(list.remove(at)),
            1 => list[at] = other,
            2 => list.insert(at, other),
            3 => list[at] = KNOWN[random.below(KNOWN.len())],
            // The rest is missing, or some of it stands elsewhere too.
            4 => list.truncate(at),
            5 => {
                let to = (from + random.below(30)).min(list.len());
                let part: Vec<&str> = list[from..to].to_vec();
                list.splice(at..at, part);
            }
            _ => list.insert(at, KNOWN[random.below(KNOWN.len())]),
        }
        if list.is_empty() {
            break;
        }
    }
    list.concat()
}

#[test]
fn mutated_examples_never_panic() {
    let pairs = [
        ("reverse.tvp", "list.tvs"),
        ("lists.tvp", "list.tvs"),
        ("list_actions.tvp", "list.tvs"),
        ("splice.tvp", "doubly.tvs"),
        ("mark_sweep.tvp", "graph.tvs"),
        ("mutex.tvm", "mutex.tvs"),
        ("two_lock_queue.tvm", "two_lock_queue.tvs"),
        ("inc.tvp", "inc.tvs"),
        ("insertion_sort.tvp", "unsorted.tvs"),
        ("rotate.tvp", "tree.tvs"),
        ("merge_bug.tvp", "two_lists.tvs"),
        ("mutex_bug.tvm", "mutex.tvs"),
    ];
    let soak = std::env::var("PALISADE_SOAK").ok();
    let rounds: usize = soak.and_then(|n| n.parse().ok()).unwrap_or(400);
    let mut random = Random(5);
    let (mut read, mut refused) = (0, 0);
    for round in 0..rounds {
        let (program, states) = pairs[round % pairs.len()];
        let text = |name: &str| fs::read_to_string(folder().join(name)).expect("an example");
        let (mut p, mut s) = (text(program), text(states));
        if random.below(3) > 0 {
            p = mutated(&p, &mut random);
        } else {
            s = mutated(&s, &mut random);
        }
        // The actions of the lists stand in a file that others include.
        let main = if program.starts_with("list") {
            "reverse.tvp"
        } else {
            program
        };
        let changed = p.clone();
        let loader = move |path: &str, from: &str| {
            if path == program {
                return Some((path.to_owned(), changed.clone()));
            }
            load(path, from)
        };
        let mut options = Options {
            loader: &loader,
            ..Options::default()
        };
        options.limits.structures = Some(40);
        options.limits.workers = 1;
        options.bounds.visits = 3;
        let main_text = if main == program { p } else { text(main) };
        let input = |name, text| Input { name, text };
        match analyse(input(main, &main_text), input(states, &s), &options) {
            Ok(_) => read += 1,
            Err(errors) => {
                assert!(!errors.to_string().is_empty());
                refused += 1;
            }
        }
    }
    assert!(read > 20 && refused > 20, "{read} read, {refused} refused");
}
