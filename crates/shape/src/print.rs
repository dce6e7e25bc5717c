//! Printing: structures in TVS syntax, formulas as text.
//!
//! Place: output; what is printed can be read again by [`crate::syntax::tvs`].

use crate::formula::Formula;
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

/// A formula as text, with the given variable names.
pub fn formula(voc: &Vocabulary, names: &[String], f: &Formula) -> String {
    let var = |v: &crate::formula::Var| {
        names
            .get(v.0 as usize)
            .cloned()
            .unwrap_or_else(|| format!("v{}", v.0 % 1000))
    };
    let go = |f: &Formula| formula(voc, names, f);
    let join = |fs: &[Formula], sign: &str| {
        let parts: Vec<String> = fs.iter().map(go).collect();
        format!("({})", parts.join(sign))
    };
    match f {
        Formula::Value(k) => k.to_string(),
        Formula::Eq(a, b) => format!("{} == {}", var(a), var(b)),
        Formula::Atom(p, args) => {
            let args: Vec<String> = args.iter().map(var).collect();
            format!("{}({})", voc.get(*p).name, args.join(","))
        }
        Formula::Not(f) => format!("!{}", go(f)),
        Formula::And(fs) => join(fs, " & "),
        Formula::Or(fs) => join(fs, " | "),
        Formula::Ite(c, a, b) => format!("({} ? {} : {})", go(c), go(a), go(b)),
        Formula::Exists(v, f) => format!("(E({}) {})", var(v), go(f)),
        Formula::Forall(v, f) => format!("(A({}) {})", var(v), go(f)),
        Formula::Tc(tc) => format!(
            "(TC ({},{})({},{}) {})",
            var(&tc.from),
            var(&tc.to),
            var(&tc.a),
            var(&tc.b),
            go(&tc.body)
        ),
    }
}
