//! A *smallest sufficient set* of soft invariants: those that suffice for the proof, and of which none
//! can be left out [Friggens and Groves, arXiv 2015, sections 3.4 and 5: how few are needed, and how hard
//! they are to choose]. Over-defined ones are taken away in pieces, as delta debugging does
//! [Zeller and Hildebrandt, TSE 2002]: halves, quarters, and so on, then one by one until
//! nothing more can go. What is taken away is an invariant at all its locations.
//!
//! It is smallest by inclusion: another set of other invariants may have fewer.

use super::facts::{Colour, Fact};
use super::fragment::Fragment;
use super::model::chosen;
use super::soft::{Chosen, Invariant};
use super::{Apart, Options, Proof, Soft, attempt_with};

/// Soft invariants that suffice.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Minimal {
    /// Each with the places at which it is said, in the words of the language.
    pub invariants: Vec<String>,
    /// How many there were.
    pub of: usize,
    /// Proofs that were tried.
    pub proofs: usize,
    /// Whether none can be left out; not so if it was stopped before.
    pub complete: bool,
}

/// The smallest set that proves what `proof` proves, at its level.
pub(super) fn minimal(
    fragment: &Fragment<'_>,
    options: &Options<'_>,
    apart: Apart,
    proof: &Proof,
) -> Option<Minimal> {
    if options.soft == Soft::None || !proof.holds() {
        return None;
    }
    let (facts, all) = chosen(fragment, options.soft, proof.level);
    let of = all.invariants.len();
    let mut proofs = 0;
    let mut suffices = |invariants: &[Invariant]| {
        proofs += 1;
        let fewer = Chosen {
            invariants: invariants.to_vec(),
            defined: all.defined,
        };
        let shape = (apart, proof.level, proof.acyclic);
        attempt_with(fragment, options, shape, &facts, &fewer).holds()
    };
    let stopped = || {
        let flag = options.cancel;
        flag.is_some_and(|flag| flag.load(std::sync::atomic::Ordering::Relaxed))
    };
    let kept = smallest(all.invariants.clone(), &mut suffices, &stopped);
    let said = kept.iter().map(|invariant| said(fragment, invariant));
    Some(Minimal {
        invariants: said.collect(),
        of,
        proofs,
        complete: !stopped(),
    })
}

/// Elements that suffice, and of which none can be left out, unless it is stopped.
fn smallest<T: Clone>(
    mut kept: Vec<T>,
    suffices: &mut impl FnMut(&[T]) -> bool,
    stopped: &impl Fn() -> bool,
) -> Vec<T> {
    let mut size = kept.len().div_ceil(2);
    while size > 0 && !stopped() {
        let before = kept.len();
        let mut from = 0;
        while from < kept.len() && !stopped() {
            let to = (from + size).min(kept.len());
            let rest = [&kept[..from], &kept[to..]].concat();
            if suffices(&rest) {
                kept = rest;
            } else {
                from = to;
            }
        }
        // With single ones again: what was needed beside others may not be without them.
        match size {
            1 if kept.len() < before => {}
            1 => break,
            _ => size = size.div_ceil(2),
        }
    }
    kept
}

/// The invariant in the words of the language, and where it is said.
fn said(fragment: &Fragment<'_>, invariant: &Invariant) -> String {
    match invariant {
        Invariant::Everywhere {
            colour,
            variable,
            holds,
        } => {
            let method = fragment.methods[fragment.variables[*variable].method].name;
            let then = literal(fragment, &(Fact::On(colour.clone(), *variable), *holds));
            let x = local(fragment, *variable);
            format!("{method}, everywhere: soft {then} when {x} != null;")
        }
        Invariant::At {
            locations,
            condition,
            then,
        } => {
            let when = match condition {
                None => String::new(),
                Some(condition) => format!(" when {}", literal(fragment, condition)),
            };
            format!(
                "{}: soft {}{when};",
                places(fragment, locations),
                literal(fragment, then)
            )
        }
    }
}

/// The lines before whose steps a thread stands at the locations.
fn places(fragment: &Fragment<'_>, locations: &[usize]) -> String {
    let mut parts = Vec::new();
    for (number, method) in fragment.methods.iter().enumerate() {
        let own = locations.iter().map(|&l| &fragment.locations[l]);
        let own = own.filter(|l| l.method == number);
        let edges = own.flat_map(|location| method.body.leaving(location.at));
        let line = |span: palisade_program::Span| fragment.program.source.position(span.start).line;
        let mut lines: Vec<u32> = edges.map(|(_, edge)| line(edge.span)).collect();
        lines.sort_unstable();
        lines.dedup();
        let text: Vec<String> = lines.iter().map(u32::to_string).collect();
        match &text[..] {
            [] => {}
            [one] => parts.push(format!("{}, line {one}", method.name)),
            several => parts.push(format!("{}, lines {}", method.name, several.join(", "))),
        }
    }
    parts.join("; ")
}

fn local<'f>(fragment: &'f Fragment<'_>, variable: usize) -> &'f str {
    let variable = &fragment.variables[variable];
    let body = fragment.methods[variable.method].body;
    &body.locals[variable.local.index()].name
}

fn literal(fragment: &Fragment<'_>, (fact, holds): &(Fact, bool)) -> String {
    let x = |x: &usize| local(fragment, *x);
    let pointer = |p: &usize| &fragment.program.shared[fragment.pointers[*p].0.index()].name;
    let link = &fragment.program.structs[0].fields[fragment.link.0.index()].name;
    let equal = if *holds { "==" } else { "!=" };
    let not_equal = if *holds { "!=" } else { "==" };
    let sign = if *holds { "" } else { "!" };
    match fact {
        Fact::Has(a) => format!("{} {not_equal} null", x(a)),
        Fact::Shared(p) => format!("{} {not_equal} null", pointer(p)),
        Fact::Next(a, b) => format!("{}.{link} {equal} {}", x(a), x(b)),
        Fact::End(a, b) => format!("{sign}({}.{link} == null && {} == null)", x(a), x(b)),
        Fact::Same(a, b) => format!("{} {equal} {}", x(a), x(b)),
        Fact::Result(a) => format!("{sign}result({})", x(a)),
        Fact::Done => format!("{sign}done"),
        Fact::Empty => format!("{sign}nothing"),
        Fact::Noted => format!("{sign}noted"),
        Fact::Holds(lock) => {
            let lock = fragment.locks[*lock].0;
            format!(
                "{sign}holds({})",
                fragment.program.shared[lock.index()].name
            )
        }
        Fact::On(colour, a) => match colour {
            Colour::Entered => format!("{sign}entered({})", x(a)),
            Colour::Left => format!("{sign}left({})", x(a)),
            Colour::Valued => format!("{sign}written({})", x(a)),
            Colour::Linked => format!("{}.{link} {not_equal} null", x(a)),
            Colour::Pointer(p) => format!("{} {equal} {}", x(a), pointer(p)),
            Colour::Was(p) => format!("{sign}was({}, {})", pointer(p), x(a)),
            Colour::Reached(p) => format!("{sign}reaches({}, {})", pointer(p), x(a)),
            Colour::First => format!("{sign}first({})", x(a)),
            Colour::Last => format!("{sign}last({})", x(a)),
            Colour::Front => format!("{sign}front({})", x(a)),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::smallest;

    /// Against what suffices by definition: all of some, or all of some others.
    #[test]
    fn nothing_can_be_left_out() {
        let needs: [&[u32]; 4] = [&[], &[0], &[3, 7, 8], &[1, 2, 9, 10, 11, 12]];
        for first in needs {
            for second in needs {
                let has = |set: &[u32], all: &[u32]| all.iter().all(|n| set.contains(n));
                let mut suffices = |set: &[u32]| has(set, first) || has(set, second);
                let kept = smallest((0..13).collect(), &mut suffices, &|| false);
                assert!(suffices(&kept));
                for left_out in 0..kept.len() {
                    let mut fewer = kept.clone();
                    fewer.remove(left_out);
                    assert!(!suffices(&fewer), "{kept:?}");
                }
            }
        }
    }
}
