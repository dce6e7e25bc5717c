//! The program in fewer words, before it is looked at: what people write in several ways is written in one.
//!
//! | in the original | here |
//! |---|---|
//! | a local that is only ever a copy of the argument, and is not used before it is one | the argument |
//! | two locals for data of which one takes the value of the other, never both needed | one local |
//! | a shared pointer that only `init` writes and nobody reads | not written |
//! | several methods that are one operation, written alike | one of them |
//! | pointers to boxes of one value ([`unbox`](super::unbox)) | values |
//! | a node for each round of a loop ([`round`](super::round)) | one node for all rounds |
//!
//! All have the same runs as the original, but for values and nodes that nobody looks at, and for which of several methods
//! that are alike was called.

use palisade_program::heap::{Body, Cond, Edge, Method, Place, Program, Role, Step, Term, Type};
use palisade_program::{LocalId, SharedId, Span};

use super::places::assigns;
use super::round::hoisted;
use super::unbox::unboxed;
use crate::code::Code;

/// The program in fewer words.
pub fn simplified(program: &Program) -> Program {
    let mut simple = without_aliases(&unboxed(&without_copies(program)));
    for method in &mut simple.methods {
        while let Some((copy, of)) = coalesced(method) {
            merge(&mut method.body, copy, of);
        }
        *method = hoisted(method);
    }
    simple
}

/// The program without copies of arguments and without shared pointers that nobody reads: the first and the third line of the table.
pub(crate) fn without_aliases(program: &Program) -> Program {
    let mut simple = program.clone();
    for method in &mut simple.methods {
        while let Some((copy, of)) = copied(method) {
            replace(&mut method.body, copy, of);
        }
    }
    for id in (0..program.shared.len()).map(SharedId::from) {
        let pointer = matches!(program.shared[id.index()].ty, Type::Pointer(_));
        if pointer && !looked_at(program, id) {
            let edges = simple.init.iter_mut().flat_map(|init| &mut init.edges);
            for edge in edges.filter(|e| e.step.place() == Some(Place::Shared(id))) {
                edge.step = Step::Skip;
            }
        }
    }
    simple
}

/// The program with one of several methods that are written alike.
fn without_copies(program: &Program) -> Program {
    let mut program = program.clone();
    let mut kept: Vec<Method> = Vec::new();
    program.methods.retain(|method| {
        let plain = anonymous(method);
        let is_new = !kept.contains(&plain);
        if is_new {
            kept.push(plain);
        }
        is_new
    });
    program
}

/// The method without names and places of its text, and without soft invariants.
fn anonymous(method: &Method) -> Method {
    let mut method = method.clone();
    (method.name, method.span) = (String::new(), Span::default());
    let body = &mut method.body;
    body.softs.clear();
    for local in &mut body.locals {
        (local.name, local.span) = (String::new(), Span::default());
    }
    for edge in &mut body.edges {
        edge.span = Span::default();
        for commit in &mut edge.commits {
            commit.span = Span::default();
        }
    }
    method
}

/// Whether a step of a method touches the variable, `init` reads it, or a ghost looks at it.
fn looked_at(program: &Program, id: SharedId) -> bool {
    let place = Some(Place::Shared(id));
    let ghost = |cond: &Cond| {
        let mut found = false;
        cond.for_each_term(&mut |term| found |= term == Term::Shared(id));
        found
    };
    let mut edges = program.methods.iter().flat_map(|m| &m.body.edges);
    let mut first = program.init.iter().flat_map(|init| &init.edges);
    edges.any(|e| e.step.place() == place || e.commits.iter().any(|c| ghost(&c.when)))
        || first.any(|e| e.step.place() == place && e.step.written().is_none())
        || program.nevers.iter().any(|never| ghost(&never.cond))
        || program.methods.iter().any(|m| !m.body.softs.is_empty())
}

/// Whether a shared variable is touched by any step.
pub(crate) fn touched(program: &Program, id: SharedId) -> bool {
    let bodies = program.methods.iter().map(|m| &m.body).chain(&program.init);
    let mut edges = bodies.flat_map(|body| &body.edges);
    edges.any(|e| e.step.place() == Some(Place::Shared(id))) || looked_at(program, id)
}

/// A local that is only a copy of a parameter which does not change.
fn copied(method: &Method) -> Option<(LocalId, LocalId)> {
    let body = &method.body;
    let steps = || body.edges.iter().map(|e| &e.step);
    let live = Code::new(body);
    let locals = (method.parameters..body.locals.len()).map(LocalId::from);
    let mut data = locals.filter(|l| body.locals[l.index()].ty == Type::Data);
    data.find_map(|local| {
        let mut values = steps().filter(|step| assigns(step, local));
        let Some(Step::Assign {
            value: Term::Local(of),
            ..
        }) = values.next()
        else {
            return None;
        };
        let same = Step::Assign {
            to: local,
            value: Term::Local(*of),
        };
        let constant = of.index() < method.parameters && !steps().any(|step| assigns(step, *of));
        // Nothing is read that the local was before.
        let before = live.live()[body.entry.index()][local.index()];
        (constant && !before && values.all(|step| *step == same)).then_some((local, *of))
    })
}

/// Two locals that hold data, one of which is assigned to the other, and that do not matter at the same place.
fn coalesced(method: &Method) -> Option<(LocalId, LocalId)> {
    let body = &method.body;
    let live = Code::new(body);
    let own = |local: LocalId| {
        let role = body.locals[local.index()].role;
        local.index() >= method.parameters
            && body.locals[local.index()].ty == Type::Data
            && matches!(role, Role::Variable | Role::Temporary)
    };
    let between = |step: &Step, a: LocalId, b: LocalId| {
        [(a, b), (b, a)].into_iter().any(|(to, of)| {
            let value = Term::Local(of);
            *step == Step::Assign { to, value }
        })
    };
    // Both matter at one place, or one matters where the other gets a value (that nobody may need).
    let together = |a: LocalId, b: LocalId| {
        let lost = |e: &Edge, to, other: LocalId| {
            assigns(&e.step, to) && live.live()[e.to.index()][other.index()]
        };
        live.live().iter().any(|l| l[a.index()] && l[b.index()])
            || body
                .edges
                .iter()
                .any(|e| !between(&e.step, a, b) && (lost(e, a, b) || lost(e, b, a)))
    };
    let claimed = |local: LocalId| {
        let mut found = false;
        for commit in body.edges.iter().flat_map(|e| &e.commits) {
            let mut look = |term: Term| found |= term == Term::Local(local);
            commit.when.for_each_term(&mut look);
        }
        found
    };
    body.edges.iter().find_map(|edge| {
        let Step::Assign {
            to,
            value: Term::Local(of),
        } = &edge.step
        else {
            return None;
        };
        let fine = to != of && own(*to) && own(*of) && !claimed(*to) && !claimed(*of);
        (fine && !together(*to, *of)).then_some((*to, *of))
    })
}

/// Puts one local in place of another.
fn merge(body: &mut Body, copy: LocalId, of: LocalId) {
    for edge in &mut body.edges {
        if let Step::Assign { to, .. } | Step::Read { to, .. } = &mut edge.step
            && *to == copy
        {
            *to = of;
        }
    }
    replace(body, copy, of);
    for edge in &mut body.edges {
        if matches!(edge.step, Step::Assign { to, value } if value == Term::Local(to)) {
            edge.step = Step::Skip;
        }
    }
}

fn replace(body: &mut Body, copy: LocalId, of: LocalId) {
    let term = |term: &mut Term| {
        if *term == Term::Local(copy) {
            *term = Term::Local(of);
        }
    };
    for edge in &mut body.edges {
        match &mut edge.step {
            Step::Assign { to, .. } if *to == copy => edge.step = Step::Skip,
            Step::Assign { value, .. } | Step::Return(Some(value)) => term(value),
            Step::Write { value, tag, .. } => {
                term(value);
                tag.iter_mut().for_each(term);
            }
            Step::Cas { expect, new, .. } => {
                term(expect);
                term(new);
            }
            Step::Assume(cond) => in_cond(cond, &term),
            // Data is not computed.
            Step::Compute { .. } | Step::Fail(_) => {}
            Step::Skip
            | Step::Fence
            | Step::Havoc { .. }
            | Step::New { .. }
            | Step::Read { .. }
            | Step::Lock(_)
            | Step::Unlock(_)
            | Step::Free(_)
            | Step::Return(None) => {}
        }
        for commit in &mut edge.commits {
            in_cond(&mut commit.when, &term);
        }
    }
}

fn in_cond(cond: &mut Cond, f: &dyn Fn(&mut Term)) {
    match cond {
        Cond::True => {}
        Cond::Holds(term) => f(term),
        Cond::Eq(a, b) | Cond::Less(a, b) => {
            f(a);
            f(b);
        }
        Cond::Not(inner) => in_cond(inner, f),
        Cond::And(a, b) | Cond::Or(a, b) => {
            in_cond(a, f);
            in_cond(b, f);
        }
    }
}
