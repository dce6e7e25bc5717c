//! The program in fewer words, before it is looked at: what people write in several ways is written in one.
//!
//! | in the original | here |
//! |---|---|
//! | a local that is only ever a copy of the argument, and is not used before it is one | the argument |
//! | a shared pointer that only `init` writes and nobody reads | not written |
//!
//! Both have the same runs as the original, but for values that nobody looks at.

use palisade_program::heap::{Body, Cond, Method, Place, Program, Step, Term, Type};
use palisade_program::{LocalId, SharedId};

use super::places::assigns;
use crate::code::Code;

/// The program in fewer words.
pub(crate) fn simplified(program: &Program) -> Program {
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
