//! Compilation: a formula with its variables replaced by table slots.
//!
//! Place: first half of [`crate::eval`]. Free variables get the highest slots in the order given,
//! a bound variable the lower the deeper it is bound; fixed variables get no slot.

use crate::eval::{Arg, Node, Op};
use crate::formula::{Formula, Var};

/// Most variables alive at once that a plan can have.
const MAX_SLOTS: usize = 250;

struct Compiler<'a> {
    depth: usize,
    free: &'a [Var],
    fixed: &'a [Var],
    bound: Vec<Var>,
}

/// How deep binders nest.
fn binders(f: &Formula) -> usize {
    match f {
        Formula::Value(_) | Formula::Eq(..) | Formula::Atom(..) => 0,
        Formula::Not(f) => binders(f),
        Formula::And(fs) | Formula::Or(fs) => fs.iter().map(binders).max().unwrap_or(0),
        Formula::Ite(c, a, b) => binders(c).max(binders(a)).max(binders(b)),
        Formula::Exists(_, f) | Formula::Forall(_, f) => 1 + binders(f),
        Formula::Tc(tc) => 2 + binders(&tc.body),
    }
}

impl Compiler<'_> {
    fn arg(&self, v: Var) -> Arg {
        if let Some(i) = self.bound.iter().rposition(|b| *b == v) {
            return Arg::Slot((self.depth - 1 - i) as u8);
        }
        if let Some(i) = self.fixed.iter().position(|b| *b == v) {
            return Arg::Fixed(i as u8);
        }
        let i = self
            .free
            .iter()
            .position(|b| *b == v)
            .expect("every free variable is listed as free or fixed");
        Arg::Slot((self.depth + i) as u8)
    }

    fn node(&mut self, f: &Formula) -> Node {
        let union = |nodes: &[&Node]| {
            let mut slots: Vec<u8> = nodes.iter().flat_map(|n| n.slots.clone()).collect();
            slots.sort_unstable();
            slots.dedup();
            slots
        };
        let of_args = |args: &[Arg]| {
            let mut slots: Vec<u8> = args
                .iter()
                .filter_map(|a| match a {
                    Arg::Slot(s) => Some(*s),
                    Arg::Fixed(_) => None,
                })
                .collect();
            slots.sort_unstable();
            slots.dedup();
            slots
        };
        match f {
            Formula::Value(k) => Node {
                op: Op::Value(*k),
                slots: vec![],
            },
            Formula::Eq(a, b) => {
                let (a, b) = (self.arg(*a), self.arg(*b));
                Node {
                    op: Op::Eq(a, b),
                    slots: of_args(&[a, b]),
                }
            }
            Formula::Atom(p, vars) => {
                let args: Vec<Arg> = vars.iter().map(|v| self.arg(*v)).collect();
                Node {
                    slots: of_args(&args),
                    op: Op::Atom(*p, args),
                }
            }
            Formula::Not(f) => {
                let inner = self.node(f);
                Node {
                    slots: inner.slots.clone(),
                    op: Op::Not(Box::new(inner)),
                }
            }
            Formula::And(fs) | Formula::Or(fs) => {
                let parts: Vec<Node> = fs.iter().map(|f| self.node(f)).collect();
                let slots = union(&parts.iter().collect::<Vec<_>>());
                let op = if matches!(f, Formula::And(_)) {
                    Op::And(parts)
                } else {
                    Op::Or(parts)
                };
                Node { op, slots }
            }
            Formula::Ite(c, a, b) => {
                let parts = [self.node(c), self.node(a), self.node(b)];
                let slots = union(&[&parts[0], &parts[1], &parts[2]]);
                Node {
                    op: Op::Ite(Box::new(parts)),
                    slots,
                }
            }
            Formula::Exists(v, body) | Formula::Forall(v, body) => {
                self.bound.push(*v);
                let slot = (self.depth - self.bound.len()) as u8;
                let inner = Box::new(self.node(body));
                self.bound.pop();
                let slots = inner.slots.iter().copied().filter(|s| *s != slot).collect();
                let op = if matches!(f, Formula::Exists(..)) {
                    Op::Exists(slot, inner)
                } else {
                    Op::Forall(slot, inner)
                };
                Node { op, slots }
            }
            Formula::Tc(tc) => {
                let (from, to) = (self.arg(tc.from), self.arg(tc.to));
                self.bound.extend([tc.a, tc.b]);
                let b = (self.depth - self.bound.len()) as u8;
                let a = b + 1;
                let inner = Box::new(self.node(&tc.body));
                self.bound.truncate(self.bound.len() - 2);
                let mut slots = of_args(&[from, to]);
                slots.extend(inner.slots.iter().filter(|s| **s != a && **s != b));
                slots.sort_unstable();
                slots.dedup();
                Node {
                    op: Op::Tc(from, to, a, b, inner),
                    slots,
                }
            }
        }
    }
}

/// Compiles a formula; returns it with the slots of the free variables, or `None` when it nests
/// more variables than there are slots.
pub(crate) fn compile(formula: &Formula, free: &[Var], fixed: &[Var]) -> Option<(Node, Vec<u8>)> {
    let depth = binders(formula);
    if depth + free.len() > MAX_SLOTS || fixed.len() > MAX_SLOTS {
        return None;
    }
    let mut compiler = Compiler {
        depth,
        free,
        fixed,
        bound: Vec::new(),
    };
    let root = compiler.node(formula);
    Some((root, (0..free.len()).map(|i| (depth + i) as u8).collect()))
}
