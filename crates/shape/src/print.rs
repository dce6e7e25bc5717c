//! Printing: structures in TVS syntax, formulas as text.
//!
//! Place: output; what is printed can be read again by [`crate::syntax::tvs`].

use crate::kleene::Kleene;
use crate::structure::Structure;
use crate::vocabulary::{PredId, Vocabulary};
use std::fmt::Write;

/// The structure in TVS syntax; objects are named `u0`, `u1`, ...
pub fn tvs(voc: &Vocabulary, s: &Structure) -> String {
    let list: Vec<String> = (0..s.len()).map(|u| format!("u{u}")).collect();
    let mut out = format!("%n = {{{}}}\n%p = {{\n", list.join(", "));
    for p in voc.ids() {
        let pred = voc.get(p);
        let n = s.len();
        let mut entries = Vec::new();
        if pred.arity == 0 {
            let k = s.get(voc, p, &[]);
            if k != Kleene::False {
                let _ = writeln!(out, "  {} = {k}", pred.name);
            }
            continue;
        }
        for index in 0..n.pow(pred.arity as u32) {
            let tuple = crate::coerce::tuple_at(index / n, index % n, pred.arity, n);
            let k = s.get(voc, p, &tuple);
            if k == Kleene::False || p == PredId::AC && k == Kleene::True {
                continue;
            }
            let objects: Vec<String> = tuple.iter().map(|u| format!("u{u}")).collect();
            let text = match pred.arity {
                1 => objects[0].clone(),
                2 => objects.join("->"),
                _ => format!("({})", objects.join(",")),
            };
            entries.push(if k == Kleene::Half {
                format!("{text}:1/2")
            } else {
                text
            });
        }
        if !entries.is_empty() {
            let _ = writeln!(out, "  {} = {{{}}}", pred.name, entries.join(", "));
        }
    }
    out.push_str("}\n");
    out
}
