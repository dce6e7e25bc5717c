//! Closure: the transitive closure of a step formula.
//!
//! Place: part of [`crate::eval`]. Paper: [Friggens and Groves, arXiv 2015, section 2] (formulas with
//! transitive closure). For every assignment of the step's parameters the relation is closed by
//! Warshall's algorithm, `may` and `must` apart, and read at the two ends.

use crate::eval::{Arg, Cx, Node, Op, transpose};
use crate::rows::Rows;
use crate::structure::{bits, mask};
use crate::table::{Table, table_rows};

impl Cx<'_> {
    /// Transitive closure: for every assignment of the step's other free variables close the
    /// relation, then read it at (from, to).
    pub(crate) fn closure(
        &self,
        from: Arg,
        to: Arg,
        step: (u8, u8),
        f: &Node,
        slots: &[u8],
    ) -> Table {
        let n = self.n;
        let params: Vec<u8> = f
            .slots
            .iter()
            .copied()
            .filter(|s| *s != step.0 && *s != step.1)
            .collect();
        // Order the step's table as (params..., a, b): a and b have the two lowest slots of
        // any variable in scope, so expand and then move the digits.
        let mut wanted = vec![step.1, step.0];
        wanted.extend(&params);
        let t = self.expand(self.eval(f), &f.slots, &wanted);
        let k = slots.len();
        let rows = table_rows(k, n);
        let mut out = Table {
            may: Rows::filled(0, rows),
            must: Rows::filled(0, rows),
        };
        let combos = n.pow(params.len() as u32);
        for combo in 0..combos {
            let mut values = vec![0; params.len()];
            let mut rest = combo;
            for d in (0..params.len()).rev() {
                values[d] = rest % n;
                rest /= n;
            }
            let relation = |plane: &[u64]| -> Vec<u64> { relation_at(plane, n, &values) };
            let may = close(relation(&t.may), self.existing);
            let must = close(relation(&t.must), self.active);
            self.scatter(&mut out, (&may, &must), (from, to), &params, &values, slots);
        }
        out
    }

    /// A closure node's table from a relation given for its (from, to).
    pub(crate) fn read_relation(&self, node: &Node, may: &[u64], must: &[u64]) -> Table {
        let rows = table_rows(node.slots.len(), self.n);
        let mut out = Table {
            may: Rows::filled(0, rows),
            must: Rows::filled(0, rows),
        };
        if let Op::Tc(from, to, ..) = &node.op {
            self.scatter(&mut out, (may, must), (*from, *to), &[], &[], &node.slots);
        }
        out
    }

    /// Writes the closed relation for one assignment of the parameters into the result.
    fn scatter(
        &self,
        out: &mut Table,
        closed: (&[u64], &[u64]),
        ends: (Arg, Arg),
        params: &[u8],
        values: &[usize],
        slots: &[u8],
    ) {
        let n = self.n;
        if let (Arg::Slot(from), Arg::Slot(to), [first, second]) = (ends.0, ends.1, slots)
            && params.is_empty()
            && from != to
        {
            // The common case: the whole relation, perhaps the other way round.
            debug_assert!([from, to].contains(first) && [from, to].contains(second));
            let read = |rows: &[u64]| {
                if from == *first {
                    rows.into()
                } else {
                    transpose(rows)
                }
            };
            out.may = read(closed.0);
            out.must = read(closed.1);
            return;
        }
        let all: Vec<usize> = (0..n).collect();
        let choices = |a: Arg| -> Vec<usize> {
            match a {
                Arg::Fixed(x) => vec![self.fixed[x as usize]],
                Arg::Slot(s) => match params.iter().position(|p| *p == s) {
                    Some(i) => vec![values[i]],
                    None => all.clone(),
                },
            }
        };
        for u in choices(ends.0) {
            for w in choices(ends.1) {
                if ends.0 == ends.1 && u != w {
                    continue;
                }
                let value_of = |slot: u8| {
                    if ends.0 == Arg::Slot(slot) {
                        u
                    } else if ends.1 == Arg::Slot(slot) {
                        w
                    } else {
                        values[params.iter().position(|p| *p == slot).expect("a parameter")]
                    }
                };
                let (row, bit) = match slots {
                    [] => (0, 0),
                    [prefix @ .., last] => (
                        prefix.iter().fold(0, |acc, s| acc * n + value_of(*s)),
                        value_of(*last),
                    ),
                };
                out.may[row] |= (closed.0[u] >> w & 1) << bit;
                out.must[row] |= (closed.1[u] >> w & 1) << bit;
            }
        }
    }
}

/// The relation (a, b) for one assignment of the parameters, from a plane over (b, a, params).
pub(crate) fn relation_at(plane: &[u64], n: usize, values: &[usize]) -> Vec<u64> {
    let [prefix @ .., last] = values else {
        return transpose(&plane[..n]).to_vec();
    };
    let mut out = vec![0; n];
    for b in 0..n {
        for (a, row) in out.iter_mut().enumerate() {
            let at = prefix.iter().fold(b * n + a, |acc, v| acc * n + v);
            *row |= (plane[at] >> last & 1) << b;
        }
    }
    out
}

/// Warshall's closure of a relation, going through the objects of `through` only.
pub(crate) fn close(mut rows: Vec<u64>, through: u64) -> Vec<u64> {
    for k in bits(through & mask(rows.len())) {
        let via = rows[k];
        for row in &mut rows {
            if *row >> k & 1 == 1 {
                *row |= via;
            }
        }
    }
    rows
}
