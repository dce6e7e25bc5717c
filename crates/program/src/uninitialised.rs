//! *Uninitialised memory*: cells that nothing was written to hold any value of their
//! type, chosen once. Most programs never read one, and a variable with any value makes
//! every proof harder. So a front end first gives such cells a mark that is no value of
//! the program ([`UNINITIALISED`]), and asserts after each read that it is not met
//! ([`AssertKind::Uninitialised`]). Where that holds, what the cells held does not matter,
//! and every run and every proof is one of the program itself. Where it fails,
//! [`Program::choosing`] is the program in which the variables that are read so start with
//! any value, and the question is asked again.

use std::collections::BTreeMap;

use crate::cfg::{AssertKind, Cfg, Step};
use crate::expr::Expr;
use crate::program::{Domain, Init, Program};
use crate::source::Span;

/// What memory holds that was never written: no value of the program.
pub const UNINITIALISED: i64 = i64::MIN + 77_777;
/// What a variable holds whose value is not followed: floating point, bytes of another type.
pub const OPAQUE: i64 = UNINITIALISED - 1;
/// What memory holds that was freed, where a front end marks it so.
pub const FREED: i64 = i64::MIN + 88_888;

/// Variables that are read before anything is written to them, and where.
pub type Chosen = BTreeMap<String, Span>;

/// The values of the variables that are checked.
type Domains = BTreeMap<String, Option<Domain>>;

impl Program {
    /// The program in which these variables start with any value.
    #[must_use]
    pub fn choosing(&self, chosen: &Chosen) -> Self {
        let is_global = |name: &String| self.globals.iter().any(|g| g.name == *name);
        // The checks of what is no variable stay.
        let chosen = &chosen
            .iter()
            .filter(|(name, _)| is_global(name))
            .map(|(name, span)| (name.clone(), *span))
            .collect::<Chosen>();
        let mut program = self.clone();
        let mut domains = Domains::new();
        for template in &self.templates {
            note_domains(&template.cfg, &mut domains);
        }
        for global in &mut program.globals {
            if !chosen.contains_key(&global.name) {
                continue;
            }
            global.domain = domains.get(&global.name).copied().flatten();
            for init in &mut global.init {
                if *init == Init::Value(UNINITIALISED) {
                    *init = Init::Any;
                }
            }
        }
        let names: Vec<String> = self.globals.iter().map(|g| g.name.clone()).collect();
        for template in &mut program.templates {
            choose(&mut template.cfg, &names, &domains, chosen);
        }
        program
    }
}

fn note_domains(cfg: &Cfg, domains: &mut Domains) {
    for edge in &cfg.edges {
        match &edge.step {
            Step::Assert {
                kind: AssertKind::Uninitialised { variable, domain },
                ..
            } => {
                domains.insert(variable.clone(), *domain);
            }
            Step::Atomic(block) => note_domains(&block.body, domains),
            Step::Assert { .. } | Step::Skip | Step::Assume(_) | Step::Assign { .. } => {}
            Step::Havoc { .. } | Step::Load { .. } | Step::Store { .. } | Step::Fence(_) => {}
            Step::Put { .. } | Step::Get { .. } | Step::Flush(_) | Step::RemoteAtomic(_) => {}
        }
    }
}

/// Takes away the checks of reads of these variables, and lets what is stored as
/// uninitialised be any value: front ends put the mark into a local first.
fn choose(cfg: &mut Cfg, names: &[String], domains: &Domains, chosen: &Chosen) {
    let mut stored = BTreeMap::new();
    for edge in &cfg.edges {
        if let Step::Store { dst, .. } = &edge.step {
            stored.insert(edge.from, names[dst.var.index()].clone());
        }
    }
    for edge in &mut cfg.edges {
        match &mut edge.step {
            Step::Assert {
                kind: AssertKind::Uninitialised { variable, .. },
                ..
            } if chosen.contains_key(variable) => edge.step = Step::Skip,
            Step::Assign {
                dst,
                value: Expr::Const(UNINITIALISED),
            } => {
                let variable = stored.get(&edge.to);
                if let Some(variable) = variable.filter(|v| chosen.contains_key(*v)) {
                    let (dst, domain) = (*dst, domains.get(variable).copied().flatten());
                    edge.step = Step::Havoc { dst, domain };
                }
            }
            Step::Atomic(block) => choose(&mut block.body, names, domains, chosen),
            Step::Assert { .. } | Step::Skip | Step::Assume(_) | Step::Assign { .. } => {}
            Step::Havoc { .. } | Step::Load { .. } | Step::Store { .. } | Step::Fence(_) => {}
            Step::Put { .. } | Step::Get { .. } | Step::Flush(_) | Step::RemoteAtomic(_) => {}
        }
    }
}
