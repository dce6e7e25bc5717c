//! *Properties*: each combination of `forbidden` is a `never`; each predicate is a
//! hint for every process that it can be about.
//!
//! A predicate over registers speaks of each process that has them all. (memorax
//! takes its registers as patterns for any variable; hints are never needed for
//! soundness, so the narrower reading costs nothing but help.)

use palisade_program::{
    Count, Expr, Hint, Pick, PropAtom, PropExpr, Property, PropertyKind, TemplateId, ThreadVar,
    ThreadVarId,
};

use super::code::{Thread, no_label_help};
use super::memory::{Memory, Owner, Target};
use super::{Atom, Complaints, Group, Lower};
use crate::rmm::ast::{self, Cond, File, Forbidden, Loc, LocKind, Name};

/// A process among all.
#[derive(Clone, Copy)]
struct Process {
    pid: u32,
    template: TemplateId,
    copy: u32,
}

fn processes(groups: &[Group]) -> Vec<Process> {
    let mut all = Vec::new();
    for (i, group) in groups.iter().enumerate() {
        all.extend((0..group.count).map(|copy| Process {
            pid: group.first + copy,
            template: TemplateId::from(i),
            copy,
        }));
    }
    all
}

fn pick(threads: &[Thread], process: Process) -> ThreadVar {
    let count = threads[process.template.index()].template.count;
    let pick = match count {
        Count::Once => Pick::Only,
        Count::Fixed(_) | Count::Any => Pick::Copy(process.copy),
    };
    ThreadVar {
        template: process.template,
        pick,
    }
}

/// The properties of `forbidden`.
pub(super) fn forbidden(
    file: &File,
    groups: &[Group],
    threads: &[Thread],
    complaints: &mut Complaints<'_>,
) -> Vec<Property> {
    let all = processes(groups);
    let mut properties = Vec::new();
    for combination in &file.forbidden {
        let found = never(combination, &all, threads, complaints);
        properties.extend(found.ok());
    }
    properties
}

fn never(
    combination: &Forbidden,
    all: &[Process],
    threads: &[Thread],
    complaints: &mut Complaints<'_>,
) -> Lower<Property> {
    let given = combination.labels.len();
    if given != all.len() {
        let message = format!("{given} labels for {} processes", all.len());
        let help = "write one label for each process in order, `*` for anywhere";
        return Err(complaints.error(combination.span, message, help));
    }
    let mut vars = Vec::new();
    let mut atoms = Vec::new();
    let mut result = Ok(());
    for (label, process) in combination.labels.iter().zip(all) {
        let Some(label) = label else {
            continue;
        };
        let known = &threads[process.template.index()].labels;
        match known.get(&label.text) {
            Some(Some(loc)) => {
                let var = ThreadVarId::from(vars.len());
                vars.push(pick(threads, *process));
                atoms.push(Expr::Atom(PropAtom::At(var, *loc)));
            }
            Some(None) => {
                let message = format!("the code never gets to `{}`", label.text);
                complaints.warning(label.span, message, "this combination cannot be reached");
                atoms.push(Expr::FALSE);
            }
            None => {
                let message = format!("process {} has no label `{}`", process.pid, label.text);
                let help = no_label_help(&label.text, known.keys().map(String::as_str));
                result = Err(complaints.error(label.span, message, help));
            }
        }
    }
    result?;
    if combination
        .labels
        .iter()
        .all(|l| same(l.as_ref(), combination))
    {
        any_copies(&mut vars, threads);
    }
    Ok(Property {
        kind: PropertyKind::Never,
        threads: vars,
        cond: conjunction(atoms),
        span: combination.span,
    })
}

/// Whether the label is the first one of the combination.
fn same(label: Option<&Name>, combination: &Forbidden) -> bool {
    let first = combination.labels.first().and_then(Option::as_ref);
    matches!((label, first), (Some(a), Some(b)) if a.text == b.text)
}

/// If all copies of a template are asked for the same, it does not matter which
/// is which: saying so keeps symmetric programs symmetric.
fn any_copies(vars: &mut [ThreadVar], threads: &[Thread]) {
    for var in vars {
        let all = &threads[var.template.index()].template.count;
        if let (Pick::Copy(copy), Count::Fixed(_)) = (var.pick, all) {
            var.pick = Pick::Any(copy + 1);
        }
    }
}

/// All of them, as a balanced tree: there may be thousands.
fn conjunction(mut atoms: Vec<PropExpr>) -> PropExpr {
    match atoms.len() {
        0 => Expr::TRUE,
        1 => atoms.remove(0),
        n => {
            let right = atoms.split_off(n / 2);
            conjunction(atoms).and(conjunction(right))
        }
    }
}

/// The hints of `predicates`.
pub(super) fn predicates(
    file: &File,
    groups: &[Group],
    threads: &[Thread],
    memory: &Memory,
    complaints: &mut Complaints<'_>,
) -> Vec<Hint> {
    let all = processes(groups);
    let mut hints: Vec<Hint> = Vec::new();
    for (cond, span) in &file.predicates {
        let mut registers = Vec::new();
        registers_of(cond, &mut registers);
        let has_all = |p: &&Process| {
            let known = &threads[p.template.index()].registers;
            registers.iter().all(|r| known.contains_key(&r.text))
        };
        let mut about = all.iter().filter(has_all).peekable();
        if let (None, Some(register)) = (about.peek(), registers.first()) {
            let message = format!("no process has the register `{}`", register.text);
            let help = "predicates name registers that some process has together";
            complaints.error(register.span, message, help);
        }
        for process in about {
            let mut scope = Scope {
                process: *process,
                threads,
                memory,
                complaints,
            };
            let Ok(expr) = scope.cond(cond) else {
                break;
            };
            let uses_thread = expr.any_atom(|a| !matches!(a, PropAtom::Global(..)));
            let vars = uses_thread.then(|| pick(threads, *process));
            let hint = Hint {
                threads: vars.into_iter().collect(),
                expr,
                span: *span,
            };
            if !hints.contains(&hint) {
                hints.push(hint);
            }
        }
    }
    hints
}

fn registers_of<'c>(cond: &'c Cond, out: &mut Vec<&'c Name>) {
    match cond {
        Cond::Constant(_) => {}
        Cond::Compare(_, a, b) => {
            registers_of_expr(a, out);
            registers_of_expr(b, out);
        }
        Cond::Not(inner) => registers_of(inner, out),
        Cond::And(a, b) | Cond::Or(a, b) => {
            registers_of(a, out);
            registers_of(b, out);
        }
    }
}

fn registers_of_expr<'c>(e: &'c ast::Expr, out: &mut Vec<&'c Name>) {
    match e {
        ast::Expr::Number(_) | ast::Expr::Memory(_) => {}
        ast::Expr::Register(name) => out.push(name),
        ast::Expr::Negative(inner) => registers_of_expr(inner, out),
        ast::Expr::Sum(a, b) | ast::Expr::Difference(a, b) => {
            registers_of_expr(a, out);
            registers_of_expr(b, out);
        }
    }
}

/// A predicate about one process.
struct Scope<'a, 'c> {
    process: Process,
    threads: &'a [Thread],
    memory: &'a Memory,
    complaints: &'a mut Complaints<'c>,
}

impl Scope<'_, '_> {
    fn cond(&mut self, cond: &Cond) -> Lower<PropExpr> {
        super::cond(cond, &mut |atom| self.atom(atom))
    }

    fn atom(&mut self, atom: Atom<'_>) -> Lower<PropExpr> {
        match atom {
            Atom::Register(name) => {
                let registers = &self.threads[self.process.template.index()].registers;
                let local = registers[&name.text];
                Ok(Expr::Atom(PropAtom::Local(ThreadVarId(0), local)))
            }
            Atom::Memory(loc) => self.memory(loc),
        }
    }

    fn memory(&mut self, loc: &Loc) -> Lower<PropExpr> {
        let pid = self.process.pid;
        let (name, owner) = match &loc.kind {
            LocKind::Global(name) => {
                let target = self.memory.global(name, loc.span, self.complaints)?;
                return Ok(cell(&target));
            }
            LocKind::My(name) => (name, Owner::My),
            LocKind::Other(name, i) => (name, Owner::Other(*i)),
            LocKind::Pointer(_) => {
                let message = "predicates cannot use pointers";
                let help = "name the variable";
                return Err(self.complaints.error(loc.span, message, help));
            }
        };
        let memory = self.memory;
        let target = memory.private(name, owner, pid, loc.span, self.complaints)?;
        Ok(cell(target))
    }
}

fn cell(target: &Target) -> PropExpr {
    let index = match target.place.index {
        Some(Expr::Const(index)) => u32::try_from(index).ok(),
        Some(_) | None => None,
    };
    Expr::Atom(PropAtom::Global(target.place.var, index))
}
