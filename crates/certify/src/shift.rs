//! The rules for *groups of counters* ([`palisade_program::shift`]): moving all values of a group by a
//! multiple of its modulus maps steps to steps and violations to violations. The groups are a
//! guess of somebody else; here each expression gets its group, or none, and every use of a
//! variable is checked. Locals have a group at each location; within an atomic block they have that of what was
//! last written, and none can be told where paths disagree.

use palisade_program::liveness::Liveness;
use palisade_program::property::PropAtom;
use palisade_program::shift::{Counter, Groups};
use palisade_program::{
    BinOp, Cfg, Edge, Expr, GlobalId, Init, LocId, LocalAtom, LocalExpr, LocalId, Place, Program,
    Step, TemplateId, UnOp,
};

/// Some variable is used against the rules.
pub(crate) struct IllTyped;

/// The group of an expression; `None` if its value is the same in shifted states.
type Typed = Result<Option<usize>, IllTyped>;

/// Whether all uses of the groups' variables follow the rules.
pub(crate) fn check(program: &Program, groups: &Groups) -> Result<(), IllTyped> {
    let rules = Rules { groups };
    let sound = groups
        .0
        .iter()
        .all(|g| g.modulus > 0 && !g.globals.is_empty());
    require(sound)?;
    for var in program.global_ids() {
        let global = program.global(var);
        let is_free = global.domain.is_some() || global.init.contains(&Init::Any);
        let members = groups.0.iter().filter(|g| g.globals.contains(&var)).count();
        require(members == 0 || (members == 1 && !is_free))?;
    }
    for template in program.template_ids() {
        let code = program.template(template);
        let types = LocalTypes::of(program, template, groups);
        for (index, local) in code.locals.iter().enumerate() {
            let is_free = local.domain.is_some() || local.init == Init::Any;
            for loc in code.cfg.locs() {
                let own = (template, loc, LocalId::from(index));
                let members = groups.0.iter().filter(|g| g.locals.contains(&own)).count();
                require(members == 0 || (members == 1 && !is_free))?;
            }
        }
        rules.steps(&code.cfg, &types)?;
    }
    for property in &program.properties {
        let everywhere = |t: TemplateId, local: LocalId| {
            let types = LocalTypes::of(program, t, groups);
            let mut all = types.at.iter().map(|row| row[local.index()]);
            let first = all.next().flatten();
            require(all.all(|group| group == first)).map(|()| first)
        };
        let group = rules.group(&property.cond, &|atom| match atom {
            PropAtom::Global(var, _) => Ok(rules.global(*var)),
            PropAtom::Local(t, local) => everywhere(property.threads[t.index()].template, *local),
            PropAtom::SelfOf(_) | PropAtom::At(..) => Ok(None),
        })?;
        require(group.is_none())?;
    }
    Ok(())
}

/// The groups of one template's locals.
struct LocalTypes {
    /// By location and local.
    at: Vec<Vec<Option<usize>>>,
    live: Liveness,
}

impl LocalTypes {
    fn of(program: &Program, template: TemplateId, groups: &Groups) -> Self {
        let code = program.template(template);
        let mut at = vec![vec![None; code.locals.len()]; code.cfg.loc_count()];
        for (number, group) in groups.0.iter().enumerate() {
            for (_, loc, local) in group.locals.iter().filter(|(t, ..)| *t == template) {
                at[loc.index()][local.index()] = Some(number);
            }
        }
        Self {
            at,
            live: Liveness::of(program, template),
        }
    }

    /// The locals that may be read behind `loc`.
    fn live(&self, loc: LocId) -> impl Iterator<Item = LocalId> + '_ {
        let locals = (0..self.at[loc.index()].len()).map(LocalId::from);
        locals.filter(move |local| self.live.is_live(loc, *local))
    }
}

/// The group of a local in a block; `None` if paths disagree.
type InBlock = Option<Option<usize>>;

fn require(holds: bool) -> Result<(), IllTyped> {
    if holds { Ok(()) } else { Err(IllTyped) }
}

struct Rules<'a> {
    groups: &'a Groups,
}

impl Rules<'_> {
    fn global(&self, var: GlobalId) -> Option<usize> {
        self.groups.of(Counter::Global(var))
    }

    fn group<A>(&self, e: &Expr<A>, atom: &dyn Fn(&A) -> Typed) -> Typed {
        match e {
            Expr::Const(_) => Ok(None),
            Expr::Atom(a) => atom(a),
            Expr::Unary(UnOp::Neg | UnOp::Not | UnOp::BitNot | UnOp::Wrap { .. }, a) => {
                require(self.group(a, atom)?.is_none())?;
                Ok(None)
            }
            Expr::Binary(op, a, b) => {
                let (left, right) = (self.group(a, atom)?, self.group(b, atom)?);
                match op {
                    BinOp::Add => match (left, right) {
                        (group, None) | (None, group) => Ok(group),
                        (Some(_), Some(_)) => Err(IllTyped),
                    },
                    BinOp::Sub => match (left, right) {
                        (group, None) => Ok(group),
                        (left, right) => require(left == right).map(|()| None),
                    },
                    BinOp::Eq | BinOp::Ne | BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge => {
                        require(left == right).map(|()| None)
                    }
                    BinOp::Mod => match (left, &**b) {
                        (Some(group), Expr::Const(k)) => {
                            let modulus = self.groups.0[group].modulus;
                            require(*k != 0 && modulus % k == 0).map(|()| None)
                        }
                        _ => require(left.is_none() && right.is_none()).map(|()| None),
                    },
                    BinOp::Mul
                    | BinOp::Div
                    | BinOp::And
                    | BinOp::Or
                    | BinOp::BitAnd
                    | BinOp::BitOr
                    | BinOp::BitXor
                    | BinOp::Shl
                    | BinOp::Shr => require(left.is_none() && right.is_none()).map(|()| None),
                }
            }
            Expr::Cond(c, a, b) => {
                require(self.group(c, atom)?.is_none())?;
                let group = self.group(a, atom)?;
                require(group == self.group(b, atom)?)?;
                Ok(group)
            }
        }
    }

    fn local(&self, locals: &[InBlock], e: &LocalExpr) -> Typed {
        self.group(e, &|atom| match atom {
            LocalAtom::Local(local) => locals[local.index()].ok_or(IllTyped),
            LocalAtom::SelfId => Ok(None),
        })
    }

    fn place(&self, locals: &[InBlock], place: &Place) -> Typed {
        if let Some(index) = &place.index {
            require(self.local(locals, index)?.is_none())?;
        }
        Ok(self.global(place.var))
    }

    /// The steps of a template.
    fn steps(&self, cfg: &Cfg, types: &LocalTypes) -> Result<(), IllTyped> {
        for edge in &cfg.edges {
            let before = &types.at[edge.from.index()];
            let before: Vec<InBlock> = before.iter().map(|group| Some(*group)).collect();
            let after = match &edge.step {
                Step::Atomic(atomic) => self.block(&atomic.body, before)?,
                Step::Skip | Step::Fence(_) | Step::Assume(_) | Step::Assert { .. } => {
                    self.after(edge, before)?
                }
                Step::Assign { .. } | Step::Havoc { .. } => self.after(edge, before)?,
                Step::Load { .. } | Step::Store { .. } => self.after(edge, before)?,
                Step::Put { .. } | Step::Get { .. } | Step::RemoteAtomic(_) | Step::Flush(_) => {
                    self.after(edge, before)?
                }
            };
            // What nobody reads any more may be anything.
            for local in types.live(edge.to) {
                let claimed = types.at[edge.to.index()][local.index()];
                require(after[local.index()] == Some(claimed))?;
            }
        }
        Ok(())
    }

    /// The groups behind a block: what is known at each of its locations, until nothing changes.
    fn block(&self, body: &Cfg, before: Vec<InBlock>) -> Result<Vec<InBlock>, IllTyped> {
        let unread = vec![None; before.len()];
        let mut at: Vec<Option<Vec<InBlock>>> = vec![None; body.loc_count()];
        at[body.entry.index()] = Some(before);
        let mut changed = true;
        while changed {
            changed = false;
            for edge in &body.edges {
                let Some(before) = at[edge.from.index()].clone() else {
                    continue;
                };
                let after = self.after(edge, before)?;
                let joined = match &at[edge.to.index()] {
                    None => after,
                    Some(known) => {
                        let agreed = |(a, b): (&InBlock, &InBlock)| if a == b { *a } else { None };
                        known.iter().zip(&after).map(agreed).collect()
                    }
                };
                if at[edge.to.index()].as_ref() != Some(&joined) {
                    at[edge.to.index()] = Some(joined);
                    changed = true;
                }
            }
        }
        // A block without an end has nothing behind it.
        Ok(at[body.exit.index()].take().unwrap_or(unread))
    }

    /// The groups behind a step that is no block.
    fn after(&self, edge: &Edge, mut locals: Vec<InBlock>) -> Result<Vec<InBlock>, IllTyped> {
        match &edge.step {
            Step::Skip | Step::Fence(_) => {}
            Step::Assume(cond) | Step::Assert { cond, .. } => {
                require(self.local(&locals, cond)?.is_none())?;
            }
            Step::Assign { dst, value } => {
                locals[dst.index()] = Some(self.local(&locals, value)?);
            }
            Step::Havoc { dst, .. } => locals[dst.index()] = Some(None),
            Step::Load { dst, src } => {
                locals[dst.index()] = Some(self.place(&locals, src)?);
            }
            Step::Store { dst, value } => {
                let to = self.place(&locals, dst)?;
                require(to == self.local(&locals, value)?)?;
            }
            // Blocks have none in them.
            Step::Atomic(_) => return Err(IllTyped),
            Step::Put { .. } | Step::Get { .. } | Step::RemoteAtomic(_) | Step::Flush(_) => {
                require(self.groups.0.is_empty())?;
            }
        }
        Ok(locals)
    }
}
