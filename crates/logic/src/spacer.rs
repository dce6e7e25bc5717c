//! Interpolants from *Spacer*, Z3's engine for Horn clauses. A chain of
//! formulas is a straight line of clauses, one relation per cut over the
//! variables common to both sides; the query asks for the end of the line. When
//! it cannot be reached, the cover of each relation is an interpolant.
//!
//! Clause inlining and slicing are off (they would remove the relations that
//! are asked for), and one query serves the whole chain.

use crate::decode::{DecodeError, Decoder};
use crate::encode::Encoder;
use crate::formula::Formula;
use crate::interpolate::{Chain, InterpolateError};
use crate::limits::{Limits, Reason};
use crate::names::Var;
use crate::term::Term;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};
use z3::ast::{self, Ast, Bool, Dynamic};
use z3::{Fixedpoint, FuncDecl, Params, SatResult, Sort};

/// Time for a chain when no limit says otherwise.
const DEFAULT_TIME: Duration = Duration::from_secs(20);

impl From<DecodeError> for InterpolateError {
    fn from(error: DecodeError) -> Self {
        match error {
            DecodeError::Unexpected(text) => Self::Unreadable(text),
            DecodeError::Overflow => Self::Overflow,
        }
    }
}

/// One candidate per cut; not yet checked.
pub(crate) fn candidates(
    chain: &Chain<'_>,
    limits: &Limits,
) -> Result<Vec<Formula>, InterpolateError> {
    let started = Instant::now();
    if chain.cuts() == 0 {
        return Ok(Vec::new());
    }
    if let Some(reason) = limits.exceeded(started) {
        return Err(InterpolateError::Unknown(reason));
    }
    let horn = Horn::new(chain, limits.remaining(started).unwrap_or(DEFAULT_TIME));
    match horn.engine.query(&horn.end.apply(&[])) {
        SatResult::Unsat => (0..chain.cuts())
            .map(|cut| horn.cover(cut, chain.common(cut)))
            .collect(),
        SatResult::Sat => Err(InterpolateError::Satisfiable),
        SatResult::Unknown => {
            let words = horn.engine.get_reason_unknown();
            let reason = limits.exceeded(started).unwrap_or(Reason::Solver(words));
            Err(InterpolateError::Unknown(reason))
        }
    }
}

struct Horn {
    engine: Fixedpoint,
    relations: Vec<FuncDecl>,
    end: FuncDecl,
}

impl Horn {
    fn new(chain: &Chain<'_>, time: Duration) -> Self {
        let engine = Fixedpoint::new();
        engine.set_params(&parameters(time));
        let int = Sort::int();
        let relations: Vec<FuncDecl> = (0..chain.cuts())
            .map(|cut| {
                let domain = vec![&int; chain.common(cut).len()];
                FuncDecl::new(format!("cut{cut}"), &domain, &Sort::bool())
            })
            .collect();
        let end = FuncDecl::new("end", &[], &Sort::bool());
        relations
            .iter()
            .chain([&end])
            .for_each(|relation| engine.register_relation(relation));
        let horn = Self {
            engine,
            relations,
            end,
        };
        horn.add_rules(chain);
        horn
    }

    fn add_rules(&self, chain: &Chain<'_>) {
        let mut encoder = Encoder::default();
        for (step, formula) in chain.formulas().iter().enumerate() {
            let mut vars: BTreeSet<Var> = formula.free_vars();
            let mut body = vec![encoder.formula(formula)];
            if let Some(cut) = step.checked_sub(1) {
                vars.extend(chain.common(cut));
                body.push(self.reached(cut, chain.common(cut), &mut encoder));
            }
            let head = if step < chain.cuts() {
                vars.extend(chain.common(step));
                self.reached(step, chain.common(step), &mut encoder)
            } else {
                to_bool(&self.end.apply(&[]))
            };
            let rule = Bool::and(&body).implies(head);
            let bound: Vec<ast::Int> = vars.iter().map(|var| encoder.var(*var)).collect();
            let bound: Vec<&dyn Ast> = bound.iter().map(|var| var as &dyn Ast).collect();
            let rule = if bound.is_empty() {
                rule
            } else {
                ast::forall_const(&bound, &[], &rule)
            };
            self.engine.add_rule(&rule, None);
        }
    }

    fn reached(&self, cut: usize, common: &[Var], encoder: &mut Encoder) -> Bool {
        let arguments: Vec<ast::Int> = common.iter().map(|var| encoder.var(*var)).collect();
        let arguments: Vec<&dyn Ast> = arguments.iter().map(|var| var as &dyn Ast).collect();
        to_bool(&self.relations[cut].apply(&arguments))
    }

    fn cover(&self, cut: usize, common: &[Var]) -> Result<Formula, InterpolateError> {
        let relation = &self.relations[cut];
        let Some(cover) = self.engine.get_cover_delta(-1, relation) else {
            return Err(InterpolateError::Unreadable("no cover".to_owned()));
        };
        let arguments: Vec<Term> = common.iter().map(|var| Term::var(*var)).collect();
        Ok(Decoder {
            arguments: &arguments,
        }
        .formula(&Dynamic::from(cover))?)
    }
}

fn to_bool(ast: &Dynamic) -> Bool {
    ast.as_bool()
        .unwrap_or_else(|| unreachable!("relations have Boolean range"))
}

fn parameters(time: Duration) -> Params {
    let mut params = Params::new();
    params.set_symbol("engine", "spacer");
    params.set_bool("ctrl_c", false);
    for option in ["xform.slice", "xform.inline_linear", "xform.inline_eager"] {
        params.set_bool(option, false);
    }
    params.set_u32(
        "timeout",
        u32::try_from(time.as_millis() + 1).unwrap_or(u32::MAX),
    );
    params
}
