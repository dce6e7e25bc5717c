//! The rules for *groups of counters* ([`palisade_program::shift`]): moving all values of a group by a
//! multiple of its modulus maps steps to steps and violations to violations. The groups are a
//! guess of somebody else; here each expression gets its group, or none, and every use of a
//! variable is checked.

use palisade_program::property::PropAtom;
use palisade_program::shift::{Counter, Groups};
use palisade_program::{
    BinOp, Cfg, Expr, Init, LocalAtom, LocalExpr, LocalId, Place, Program, Step, TemplateId, UnOp,
};

/// Some variable is used against the rules.
pub(super) struct IllTyped;

/// The group of an expression; `None` if its value is the same in shifted states.
type Typed = Result<Option<usize>, IllTyped>;

/// Whether all uses of the groups' variables follow the rules.
pub(super) fn check(program: &Program, groups: &Groups) -> Result<(), IllTyped> {
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
        let declared = &program.template(template).locals;
        for (index, local) in declared.iter().enumerate() {
            let is_free = local.domain.is_some() || local.init == Init::Any;
            let own = (template, LocalId::from(index));
            let members = groups.0.iter().filter(|g| g.locals.contains(&own)).count();
            require(members == 0 || (members == 1 && !is_free))?;
        }
        rules.steps(template, &program.template(template).cfg)?;
    }
    for property in &program.properties {
        let group = rules.group(&property.cond, &|atom| match atom {
            PropAtom::Global(var, _) => groups.of(Counter::Global(*var)),
            PropAtom::Local(t, local) => {
                let template = property.threads[t.index()].template;
                groups.of(Counter::Local(template, *local))
            }
            PropAtom::SelfOf(_) | PropAtom::At(..) => None,
        })?;
        require(group.is_none())?;
    }
    Ok(())
}

fn require(holds: bool) -> Result<(), IllTyped> {
    if holds { Ok(()) } else { Err(IllTyped) }
}

struct Rules<'a> {
    groups: &'a Groups,
}

impl Rules<'_> {
    fn group<A>(&self, e: &Expr<A>, atom: &dyn Fn(&A) -> Option<usize>) -> Typed {
        match e {
            Expr::Const(_) => Ok(None),
            Expr::Atom(a) => Ok(atom(a)),
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

    fn local(&self, template: TemplateId, e: &LocalExpr) -> Typed {
        self.group(e, &|atom| match atom {
            LocalAtom::Local(local) => self.groups.of(Counter::Local(template, *local)),
            LocalAtom::SelfId => None,
        })
    }

    fn place(&self, template: TemplateId, place: &Place) -> Typed {
        if let Some(index) = &place.index {
            require(self.local(template, index)?.is_none())?;
        }
        Ok(self.groups.of(Counter::Global(place.var)))
    }

    fn steps(&self, template: TemplateId, cfg: &Cfg) -> Result<(), IllTyped> {
        let own = |local: LocalId| self.groups.of(Counter::Local(template, local));
        for edge in &cfg.edges {
            match &edge.step {
                Step::Skip | Step::Fence(_) => {}
                Step::Assume(cond) | Step::Assert { cond, .. } => {
                    require(self.local(template, cond)?.is_none())?;
                }
                Step::Assign { dst, value } => {
                    require(own(*dst) == self.local(template, value)?)?;
                }
                Step::Havoc { dst, .. } => require(own(*dst).is_none())?,
                Step::Load { dst, src } => require(own(*dst) == self.place(template, src)?)?,
                Step::Store { dst, value } => {
                    let to = self.place(template, dst)?;
                    require(to == self.local(template, value)?)?;
                }
                Step::Atomic(atomic) => self.steps(template, &atomic.body)?,
                Step::Put { .. } | Step::Get { .. } | Step::RemoteAtomic(_) | Step::Flush(_) => {
                    require(self.groups.0.is_empty())?;
                }
            }
        }
        Ok(())
    }
}
