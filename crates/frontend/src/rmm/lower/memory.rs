//! *Memory*: shared variables, and how a process addresses them. Seen from process
//! p, `x[my]` is its own variable x, and `x[i]` that of the i-th other process:
//! process i if i < p, else i + 1. `[e]` is the global variable with number e, in
//! the order of declaration.
//!
//! The private variables of one name are one array, indexed by process, so that
//! copies of a process can share their code. If their domains differ they are
//! variables of their own, called `x[0]`, `x[1]`, ..., since an array has one
//! domain only.

use std::collections::BTreeMap;

use palisade_program::{
    BinOp, Domain, Expr, Global, GlobalId, Init, LocalAtom, LocalExpr, Order, Place, Role, Span,
};

use super::{Complaints, Failed, Group, Lower};
use crate::pal::suggest::nearest;
use crate::range::Range;
use crate::rmm::ast::{Decl, File};

/// Most memory cells.
const MAX_CELLS: usize = 1 << 20;

/// All shared variables.
pub(super) struct Memory {
    /// For the program: global variables in order, then private ones.
    pub(super) globals: Vec<Global>,
    names: BTreeMap<String, GlobalId>,
    privates: BTreeMap<String, Private>,
    /// Number of global variables.
    global_count: usize,
}

/// A private variable of several processes: for each process its cell, if it has
/// the variable.
struct Private {
    cells: Vec<Option<Target>>,
}

/// A memory cell with its domain.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Target {
    pub(super) place: Place,
    pub(super) domain: Option<Domain>,
}

/// A cell, and when it is the one.
pub(super) type Case = (Option<LocalExpr>, Target);

/// The owner of a private variable that a process names.
#[derive(Clone, Copy, Debug)]
pub(super) enum Owner {
    /// `[my]`
    My,
    /// `[2]`
    Other(i64),
}

impl Owner {
    /// The owner's number, seen from process `pid`.
    fn seen_from(self, pid: u32) -> i64 {
        match self {
            Self::My => i64::from(pid),
            Self::Other(i) if i < i64::from(pid) => i,
            Self::Other(i) => i.saturating_add(1),
        }
    }
}

impl Memory {
    /// Declares everything.
    pub(super) fn new(
        file: &File,
        groups: &[Group],
        complaints: &mut Complaints<'_>,
    ) -> Lower<Self> {
        let mut memory = Self {
            globals: Vec::new(),
            names: BTreeMap::new(),
            privates: BTreeMap::new(),
            global_count: file.data.len(),
        };
        for decl in &file.data {
            let id = GlobalId::from(memory.globals.len());
            memory.names.insert(decl.name.text.clone(), id);
            let name = decl.name.text.clone();
            memory
                .globals
                .push(global(decl, name, None, vec![decl.init]));
        }
        let processes: usize = groups.iter().map(|g| g.count as usize).sum();
        let mut owners: BTreeMap<&str, Vec<Option<&Decl>>> = BTreeMap::new();
        let mut order = Vec::new();
        for (process, group) in file.processes.iter().zip(groups) {
            for decl in &process.data {
                let name = decl.name.text.as_str();
                let list = owners.entry(name).or_insert_with(|| {
                    order.push(name);
                    vec![None; processes]
                });
                list[group.first as usize..][..group.count as usize].fill(Some(decl));
                if memory.global_count + order.len() * processes > MAX_CELLS {
                    let help = format!("at most {MAX_CELLS} cells are read");
                    return Err(complaints.error(decl.name.span, "too much memory", help));
                }
            }
        }
        for name in order {
            memory.declare(name, &owners[name]);
        }
        Ok(memory)
    }

    /// Declares a private variable.
    fn declare(&mut self, name: &str, owners: &[Option<&Decl>]) {
        let mut declared = owners.iter().flatten();
        let first = declared.next().expect("somebody declared it");
        let cells = if declared.all(|d| d.domain == first.domain) {
            self.array(first, owners)
        } else {
            self.single(name, owners)
        };
        self.privates.insert(name.to_owned(), Private { cells });
    }

    fn array(&mut self, first: &Decl, owners: &[Option<&Decl>]) -> Vec<Option<Target>> {
        let var = GlobalId::from(self.globals.len());
        // Elements without an owner are never used: any value will do.
        let unused = Init::Value(first.domain.map_or(0, |d| d.lo));
        let init = owners.iter().map(|d| d.map_or(unused, |d| d.init));
        let init = init.collect();
        let name = first.name.text.clone();
        self.globals
            .push(global(first, name, Some(owners.len() as u32), init));
        let cell = |pid: usize| Target {
            place: Place {
                var,
                index: Some(Expr::Const(pid as i64)),
                order: Order::Plain,
            },
            domain: first.domain,
        };
        let cells = owners.iter().enumerate();
        cells.map(|(pid, d)| d.map(|_| cell(pid))).collect()
    }

    fn single(&mut self, name: &str, owners: &[Option<&Decl>]) -> Vec<Option<Target>> {
        let mut cells = Vec::new();
        for (pid, decl) in owners.iter().enumerate() {
            let cell = decl.map(|decl| {
                let var = GlobalId::from(self.globals.len());
                let name = format!("{name}[{pid}]");
                self.globals.push(global(decl, name, None, vec![decl.init]));
                Target {
                    place: Place::scalar(var),
                    domain: decl.domain,
                }
            });
            cells.push(cell);
        }
        cells
    }

    fn unknown(&self, name: &str, span: Span, complaints: &mut Complaints<'_>) -> Failed {
        let message = format!("unknown variable `{name}`");
        let help = if self.privates.contains_key(name) {
            format!("`{name}` is private: write `{name}[my]`, or `{name}[0]` for another process's")
        } else {
            let known = self.names.keys().chain(self.privates.keys());
            match nearest(name, known.map(String::as_str)) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "declare it under `data`".to_owned(),
            }
        };
        complaints.error(span, message, help)
    }

    /// The global variable `name`.
    pub(super) fn global(
        &self,
        name: &str,
        span: Span,
        complaints: &mut Complaints<'_>,
    ) -> Lower<Target> {
        match self.names.get(name) {
            Some(id) => Ok(self.global_target(*id)),
            None => Err(self.unknown(name, span, complaints)),
        }
    }

    fn global_target(&self, id: GlobalId) -> Target {
        Target {
            place: Place::scalar(id),
            domain: self.globals[id.index()].domain,
        }
    }

    /// The global variables that `[pointer]` can be.
    pub(super) fn pointer(
        &self,
        pointer: &LocalExpr,
        range: Option<Range>,
        span: Span,
        complaints: &mut Complaints<'_>,
    ) -> Lower<Vec<Case>> {
        let ids = (0..self.global_count).map(GlobalId::from);
        let possible =
            ids.filter(|id| range.is_none_or(|r| (r.lo..=r.hi).contains(&i128::from(id.0))));
        let cases: Vec<Case> = possible
            .map(|id| {
                let number = Expr::Const(i64::from(id.0));
                let guard = Expr::binary(BinOp::Eq, pointer.clone(), number);
                let guard = (guard != Expr::TRUE).then_some(guard);
                (guard, self.global_target(id))
            })
            .collect();
        if cases.is_empty() {
            let help = match self.global_count {
                0 => "there are no global variables".to_owned(),
                n => format!("the global variables have the numbers 0 to {}", n - 1),
            };
            let message = "this points to no memory";
            return Err(complaints.error(span, message, help));
        }
        Ok(cases)
    }

    /// The variable `name` of `owner` as process `pid` sees it.
    pub(super) fn private(
        &self,
        name: &str,
        owner: Owner,
        pid: u32,
        span: Span,
        complaints: &mut Complaints<'_>,
    ) -> Lower<&Target> {
        let Some(private) = self.privates.get(name) else {
            return Err(match self.names.get(name) {
                Some(_) => {
                    let message = format!("`{name}` is a global variable");
                    let help = format!("write it without brackets: `{name}`");
                    complaints.error(span, message, help)
                }
                None => self.unknown(name, span, complaints),
            });
        };
        let number = owner.seen_from(pid);
        let index = usize::try_from(number).ok();
        let cell = index.and_then(|index| private.cells.get(index));
        match cell {
            Some(Some(target)) => Ok(target),
            Some(None) => {
                let message = format!("process {number} has no variable `{name}`");
                let help = "declare it under `data` in that process";
                Err(complaints.error(span, message, help))
            }
            None => {
                let others = private.cells.len() - 1;
                let message = format!("process {pid} has only {others} other processes");
                let help = "other processes are numbered from 0, leaving out the own one";
                Err(complaints.error(span, message, help))
            }
        }
    }

    /// The same as seen from all copies of a process.
    pub(super) fn private_of_copies(
        &self,
        name: &str,
        owner: Owner,
        group: &Group,
        span: Span,
        complaints: &mut Complaints<'_>,
    ) -> Lower<Vec<Case>> {
        let mut targets: Vec<&Target> = Vec::new();
        for copy in 0..group.count {
            targets.push(self.private(name, owner, group.first + copy, span, complaints)?);
        }
        if let Some(target) = as_array(&targets, group) {
            return Ok(vec![(None, target)]);
        }
        let mut cases: Vec<Case> = Vec::new();
        for (copy, target) in targets.into_iter().enumerate() {
            let own = Expr::Atom(LocalAtom::SelfId);
            let guard = Expr::binary(BinOp::Eq, own, Expr::Const(copy as i64));
            match cases.iter_mut().find(|(_, known)| known == target) {
                Some((Some(known), _)) => *known = known.clone().or(guard),
                Some((None, _)) => {}
                None => cases.push((Some(guard), target.clone())),
            }
        }
        if let [(guard, _)] = cases.as_mut_slice() {
            *guard = None;
        }
        Ok(cases)
    }
}

/// The cells of all copies as one element of an array, if they are elements of one.
fn as_array(targets: &[&Target], group: &Group) -> Option<Target> {
    let first = targets.first()?;
    let mut indices = Vec::new();
    for target in targets {
        match target.place.index {
            Some(Expr::Const(index)) if target.place.var == first.place.var => indices.push(index),
            Some(_) | None => return None,
        }
    }
    let own = || Expr::Atom(LocalAtom::SelfId);
    let base = indices[0];
    let index = if indices.iter().all(|i| *i == base) {
        Expr::Const(base)
    } else if indices.iter().zip(0..).all(|(i, copy)| *i == base + copy) {
        // The own variables.
        match base {
            0 => own(),
            _ => Expr::binary(BinOp::Add, own(), Expr::Const(base)),
        }
    } else {
        // Copies up to some number see one process, the others the one before it.
        let last = indices.iter().rposition(|i| *i == base)? as i64;
        let after = *indices.last()?;
        debug_assert!(group.count as usize == indices.len());
        let is_low = Expr::binary(BinOp::Le, own(), Expr::Const(last));
        Expr::Cond(
            Box::new(is_low),
            Box::new(Expr::Const(base)),
            Box::new(Expr::Const(after)),
        )
    };
    let place = Place {
        var: first.place.var,
        index: Some(index),
        order: Order::Plain,
    };
    Some(Target {
        place,
        domain: first.domain,
    })
}

fn global(decl: &Decl, name: String, len: Option<u32>, init: Vec<Init>) -> Global {
    Global {
        name,
        len,
        init,
        domain: decl.domain,
        role: Role::Data,
        home: None,
        span: decl.name.span,
    }
}
