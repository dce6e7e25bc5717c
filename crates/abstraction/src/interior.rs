//! *Interior locations*: where a thread need not be interrupted. A thread's local
//! steps (assignments to locals, tests of locals) commute with everything that
//! other threads and the memory system do, so a run can be reordered such that a
//! thread that enters an interior location goes on to the next location that is
//! not interior before anyone else moves (Lipton's reduction: local steps are
//! movers on both sides). Reachable violations stay reachable: the search may run
//! an edge and the interior ones after it as one step.
//!
//! A location is interior if
//! - it is neither entry nor exit, and no property names it (and no `never` uses
//!   the template's locations other than under `&&` and `||`: moving on may make
//!   an `@` true, which then can only help to violate);
//! - all its edges are local steps that change no local a property reads, and
//!   they cannot all be blocked: a single step that is no `assume`, or several
//!   without conditions, or two `assume`s of opposite conditions. (A thread that
//!   got stuck would keep its earlier effects; as one step they would be lost.)
//! - no cycle consists of interior locations alone.
//!
//! Steps of the memory system for the thread (the update self-loops of reduced
//! programs) may be there as well if they commute: they touch other locals than
//! the location's steps, and the same self-loops exist where these lead.

use std::collections::BTreeSet;

use palisade_program::cfg::{Cfg, Edge, Step};
use palisade_program::{
    BinOp, Expr, LocId, LocalAtom, LocalId, Program, PropAtom, PropExpr, PropertyKind, TemplateId,
};

/// For each location of a template whether it is interior.
pub(crate) fn interior(program: &Program, template: TemplateId) -> Vec<bool> {
    let code = program.template(template);
    let cfg = &code.cfg;
    let observed = Observed::by(program, template);
    if observed.negatively {
        return vec![false; cfg.loc_count()];
    }
    let mut interior: Vec<bool> = cfg
        .locs()
        .map(|loc| {
            loc != cfg.entry
                && loc != cfg.exit
                && !observed.locs.contains(&loc)
                && passes(cfg, loc, &observed.locals)
        })
        .collect();
    for loc in cfg.cycle_cuts(&interior) {
        interior[loc.index()] = false;
    }
    interior
}

/// What properties read of a template.
struct Observed {
    locs: BTreeSet<LocId>,
    locals: BTreeSet<LocalId>,
    /// Whether being elsewhere can violate a property.
    negatively: bool,
}

impl Observed {
    fn by(program: &Program, template: TemplateId) -> Self {
        let mut observed = Self {
            locs: BTreeSet::new(),
            locals: BTreeSet::new(),
            negatively: false,
        };
        for property in &program.properties {
            let own = |t: &palisade_program::ThreadVarId| {
                property.threads[t.index()].template == template
            };
            property.cond.for_each_atom(&mut |atom| match atom {
                PropAtom::Local(t, local) if own(t) => drop(observed.locals.insert(*local)),
                PropAtom::At(t, loc) if own(t) => drop(observed.locs.insert(*loc)),
                PropAtom::Local(..) | PropAtom::At(..) => {}
                PropAtom::Global(..) | PropAtom::SelfOf(_) => {}
            });
            let at = |atom: &PropAtom| matches!(atom, PropAtom::At(t, _) if own(t));
            observed.negatively |=
                property.kind == PropertyKind::Never && !is_monotone(&property.cond, &at);
        }
        observed
    }
}

/// Whether making an atom of `at` true can only make the expression true.
fn is_monotone(e: &PropExpr, at: &dyn Fn(&PropAtom) -> bool) -> bool {
    match e {
        Expr::Binary(BinOp::And | BinOp::Or, a, b) => is_monotone(a, at) && is_monotone(b, at),
        Expr::Const(_) | Expr::Atom(_) => true,
        Expr::Unary(..) | Expr::Binary(..) | Expr::Cond(..) => !e.any_atom(at),
    }
}

/// Whether the steps at `loc` are local, unobserved, never all blocked, and
/// commute with the self-loops there.
fn passes(cfg: &Cfg, loc: LocId, observed: &BTreeSet<LocalId>) -> bool {
    let (loops, steps): (Vec<&Edge>, Vec<&Edge>) =
        cfg.outgoing(loc).map(|(_, e)| e).partition(|e| e.to == loc);
    let local = |e: &&Edge| {
        e.step.is_local()
            && e.step
                .written_local()
                .is_none_or(|l| !observed.contains(&l))
    };
    if steps.is_empty() || !steps.iter().all(local) || !never_blocked(&steps) {
        return false;
    }
    loops.iter().all(|own| {
        let Step::Atomic(_) = own.step else {
            return false;
        };
        let touched = touched_locals(&own.step);
        steps.iter().all(|e| {
            let there = cfg
                .outgoing(e.to)
                .any(|(_, x)| x.to == e.to && x.step == own.step);
            there && touched.is_disjoint(&touched_locals(&e.step))
        })
    })
}

fn never_blocked(steps: &[&Edge]) -> bool {
    match steps {
        [a, b] => match (&a.step, &b.step) {
            (Step::Assume(x), Step::Assume(y)) => {
                *y == x.clone().negate() || *x == y.clone().negate()
            }
            (x, y) => !matches!(x, Step::Assume(_)) && !matches!(y, Step::Assume(_)),
        },
        all => all.iter().all(|e| !matches!(e.step, Step::Assume(_))),
    }
}

/// All locals that a step reads or writes.
fn touched_locals(step: &Step) -> BTreeSet<LocalId> {
    let mut touched = BTreeSet::new();
    step.for_each_expr(&mut |e| {
        e.for_each_atom(&mut |atom| {
            if let LocalAtom::Local(id) = atom {
                touched.insert(*id);
            }
        });
    });
    if let Step::Atomic(atomic) = step {
        touched.extend(atomic.body.written_locals());
    } else {
        touched.extend(step.written_local());
    }
    touched
}
