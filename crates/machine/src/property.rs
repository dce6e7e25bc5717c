//! Compiled properties: each `never` and `finally` once for every choice of
//! distinct copies that its thread variables may stand for.

use palisade_program::{
    BinOp, Broken, Expr, Instance, LocId, Pick, PropAtom, PropExpr, Property, PropertyKind,
    ThreadVar,
};

use crate::code::{Atom, Code, Table};
use crate::machine::Machine;
use crate::options::{Bound, Bounds};
use crate::state::State;

/// One property with its threads chosen.
#[derive(Clone, Debug)]
struct Check {
    property: usize,
    /// Threads that have to be at certain places for the condition to be true:
    /// looked at first, since most states fail here.
    places: Vec<(u32, u32)>,
    cond: Code,
}

/// All compiled properties.
#[derive(Clone, Debug, Default)]
pub(crate) struct Checks {
    never: Vec<Check>,
    finally: Vec<Check>,
}

impl Checks {
    /// Compiles the properties of the machine's program.
    pub(crate) fn compile(machine: &mut Machine<'_>) -> Self {
        let mut checks = Self::default();
        let instances: Vec<Instance> = machine.threads.iter().map(|t| t.instance).collect();
        let program = machine.program;
        for (index, property) in program.properties.iter().enumerate() {
            for threads in picks(&property.threads, &instances) {
                let check = one(machine, index, property, &threads);
                match property.kind {
                    PropertyKind::Never => checks.never.push(check),
                    PropertyKind::Finally => checks.finally.push(check),
                }
            }
        }
        checks
    }

    /// The first property that `state` violates, if any.
    pub(crate) fn broken(
        &self,
        machine: &Machine<'_>,
        state: &State,
        bounds: &mut Bounds,
    ) -> Option<Broken> {
        let table = &machine.table;
        for check in &self.never {
            let placed = |&(t, loc): &(u32, u32)| state.pcs[t as usize] == loc;
            if check.places.iter().all(placed) && holds(table, check, state, bounds) == Some(true) {
                return Some(Broken::Property(check.property));
            }
        }
        if !self.finally.is_empty() && machine.is_final(state) {
            let bad = |c: &&Check| holds(table, c, state, bounds) == Some(false);
            let bad = self.finally.iter().find(bad);
            return bad.map(|c| Broken::Property(c.property));
        }
        None
    }
}

fn holds(table: &Table, check: &Check, state: &State, bounds: &mut Bounds) -> Option<bool> {
    match table.value(check.cond, state) {
        Ok(value) => Some(value != 0),
        Err(error) => {
            bounds.touch(Bound::from(error));
            None
        }
    }
}

fn one(machine: &mut Machine<'_>, index: usize, property: &Property, threads: &[u32]) -> Check {
    let bases: Vec<(u32, u32)> = threads
        .iter()
        .map(|&t| {
            let thread = &machine.threads[t as usize];
            (thread.base, thread.instance.copy)
        })
        .collect();
    let program = machine.program;
    let cond = machine.table.compile(&property.cond, &|atom| match atom {
        PropAtom::Global(var, element) => Atom::Slot(program.cell(*var, element.unwrap_or(0)).0),
        PropAtom::Local(t, local) => Atom::Slot(bases[t.index()].0 + local.0),
        PropAtom::SelfOf(t) => Atom::Const(i64::from(bases[t.index()].1)),
        PropAtom::At(t, loc) => Atom::At {
            thread: threads[t.index()],
            loc: loc.0,
        },
    });
    let mut places = Vec::new();
    needed_places(&property.cond, &mut |t, loc| {
        places.push((threads[t as usize], loc.0));
    });
    Check {
        property: index,
        places,
        cond,
    }
}

/// The locations among the conjuncts of `cond`.
fn needed_places(cond: &PropExpr, found: &mut impl FnMut(u32, LocId)) {
    match cond {
        Expr::Binary(BinOp::And, a, b) => {
            needed_places(a, found);
            needed_places(b, found);
        }
        Expr::Atom(PropAtom::At(t, loc)) => found(t.0, *loc),
        Expr::Atom(_) | Expr::Const(_) => {}
        Expr::Unary(..) | Expr::Binary(..) | Expr::Cond(..) => {}
    }
}

/// All ways to choose threads for the thread variables: `t#1` and `t#2` stand
/// for distinct copies.
fn picks(vars: &[ThreadVar], instances: &[Instance]) -> Vec<Vec<u32>> {
    let mut all: Vec<Vec<u32>> = vec![Vec::new()];
    for (i, var) in vars.iter().enumerate() {
        let fits = |instance: &Instance| {
            instance.template == var.template
                && match var.pick {
                    Pick::Only => true,
                    Pick::Copy(copy) => instance.copy == copy,
                    Pick::Any(_) => true,
                }
        };
        let mut longer = Vec::new();
        for chosen in &all {
            for (t, instance) in instances.iter().enumerate() {
                let taken = matches!(var.pick, Pick::Any(_))
                    && vars[..i]
                        .iter()
                        .zip(chosen)
                        .any(|(earlier, &c)| matches!(earlier.pick, Pick::Any(_)) && c == t as u32);
                if fits(instance) && !taken {
                    let mut next = chosen.clone();
                    next.push(t as u32);
                    longer.push(next);
                }
            }
        }
        all = longer;
    }
    all
}
