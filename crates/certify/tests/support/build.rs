//! Programs by hand, with as little writing as possible.

use palisade_program::cfg::local;
use palisade_program::*;

pub(crate) fn global(name: &str, init: Init) -> Global {
    Global {
        name: name.to_owned(),
        len: None,
        init: vec![init],
        domain: None,
        role: Role::Data,
        home: None,
        span: Span::default(),
    }
}

pub(crate) fn array(name: &str, init: &[i64]) -> Global {
    Global {
        len: Some(init.len() as u32),
        init: init.iter().map(|v| Init::Value(*v)).collect(),
        ..global(name, Init::Value(0))
    }
}

pub(crate) fn local_var(name: &str) -> Local {
    Local {
        name: name.to_owned(),
        init: Init::Value(0),
        domain: None,
        role: Role::Data,
        origin: Origin::User,
        span: Span::default(),
    }
}

/// A thread whose code is a list of (from, step, to) over numbered locations;
/// `locs` of them, the first being the entry and the last the exit.
pub(crate) fn thread(
    name: &str,
    count: Count,
    locals: &[&str],
    locs: u32,
    code: Vec<(u32, Step, u32)>,
) -> Template {
    Template {
        name: name.to_owned(),
        count,
        is_process: false,
        locals: locals.iter().map(|l| local_var(l)).collect(),
        cfg: graph(locs, code),
        labels: Vec::new(),
        life: palisade_program::Life::default(),
        span: Span::default(),
    }
}

/// A graph from location 0 to the last one. All locations must be reachable, so
/// that numbers stay as written.
pub(crate) fn graph(locs: u32, code: Vec<(u32, Step, u32)>) -> Cfg {
    let mut builder = CfgBuilder::new();
    for _ in 0..locs {
        builder.loc();
    }
    for (number, (from, step, to)) in code.into_iter().enumerate() {
        let span = Span::new(number, number + 1);
        builder.edge(LocId(from), step, LocId(to), span);
    }
    let (cfg, map) = builder.finish(LocId(0), LocId(locs - 1));
    assert!(map.iter().all(Option::is_some), "an unreachable location");
    cfg
}

pub(crate) fn program(
    globals: Vec<Global>,
    templates: Vec<Template>,
    properties: Vec<Property>,
) -> Program {
    Program {
        source: Source::new("test", ""),
        globals,
        templates,
        properties,
        ..Program::default()
    }
}

pub(crate) fn r(id: u32) -> LocalExpr {
    local(LocalId(id))
}

pub(crate) fn k(value: i64) -> LocalExpr {
    Expr::Const(value)
}

pub(crate) fn bin(op: BinOp, a: LocalExpr, b: LocalExpr) -> LocalExpr {
    Expr::binary(op, a, b)
}

pub(crate) fn assume(e: LocalExpr) -> Step {
    Step::Assume(e)
}

pub(crate) fn assert(cond: LocalExpr) -> Step {
    let kind = AssertKind::User;
    Step::Assert { cond, kind }
}

pub(crate) fn load(dst: u32, var: u32) -> Step {
    let src = Place::scalar(GlobalId(var));
    let dst = LocalId(dst);
    Step::Load { dst, src }
}

pub(crate) fn store(var: u32, value: LocalExpr) -> Step {
    let dst = Place::scalar(GlobalId(var));
    Step::Store { dst, value }
}

pub(crate) fn assign(dst: u32, value: LocalExpr) -> Step {
    let dst = LocalId(dst);
    Step::Assign { dst, value }
}

pub(crate) fn atomic(locs: u32, code: Vec<(u32, Step, u32)>) -> Step {
    block(AtomicKind::Block, locs, code)
}

pub(crate) fn block(kind: AtomicKind, locs: u32, code: Vec<(u32, Step, u32)>) -> Step {
    let body = graph(locs, code);
    Step::Atomic(Box::new(Atomic { kind, body }))
}

pub(crate) fn never(threads: Vec<ThreadVar>, cond: PropExpr) -> Property {
    let kind = PropertyKind::Never;
    let span = Span::default();
    Property {
        kind,
        threads,
        cond,
        span,
    }
}

pub(crate) fn finally(threads: Vec<ThreadVar>, cond: PropExpr) -> Property {
    let kind = PropertyKind::Finally;
    Property {
        kind,
        ..never(threads, cond)
    }
}

pub(crate) fn only(template: u32) -> ThreadVar {
    let template = TemplateId(template);
    let pick = Pick::Only;
    ThreadVar { template, pick }
}

pub(crate) fn any(template: u32, number: u32) -> ThreadVar {
    let pick = Pick::Any(number);
    ThreadVar {
        pick,
        ..only(template)
    }
}

pub(crate) fn at(thread: u32, loc: u32) -> PropExpr {
    Expr::Atom(PropAtom::At(ThreadVarId(thread), LocId(loc)))
}

pub(crate) fn mem(var: u32) -> PropExpr {
    Expr::Atom(PropAtom::Global(GlobalId(var), None))
}

pub(crate) fn prop_local(thread: u32, id: u32) -> PropExpr {
    Expr::Atom(PropAtom::Local(ThreadVarId(thread), LocalId(id)))
}

pub(crate) fn pbin(op: BinOp, a: PropExpr, b: PropExpr) -> PropExpr {
    Expr::binary(op, a, b)
}
