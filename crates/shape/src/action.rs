//! Actions: the guarded, focused updates that a control-flow edge performs.
//!
//! Place: made by the front end, applied by [`crate::transfer`]. Paper: [Friggens and Groves, arXiv
//! 2015], section 2 and its tool TVLA.

use crate::bindings::Bindings;
use crate::eval::{Plan, Table};
use crate::focus::FocusPlan;
use crate::formula::{Formula, Var};
use crate::kleene::Kleene;
use crate::syntax::Span;
use crate::vocabulary::PredId;

/// A message and when it is given.
#[derive(Clone, Debug)]
pub struct Message {
    /// The condition; its free variables are the action's bindings.
    pub formula: Formula,
    pub(crate) plan: Plan,
    /// The text.
    pub text: String,
    /// Only on this definite value (texts that start with `1:` or `0:`), else on 1 and 1/2.
    pub only: Option<Kleene>,
    /// Where it is written.
    pub span: Span,
}

impl Message {
    /// Whether a condition of this value gives the message.
    pub fn fires(&self, value: Kleene) -> bool {
        match self.only {
            Some(k) => value == k,
            None => value.may(),
        }
    }
}

/// `p(args) = formula`.
#[derive(Clone, Debug)]
pub struct Update {
    /// The predicate.
    pub predicate: PredId,
    /// Its arguments.
    pub args: Vec<Var>,
    /// The new value, over the old structure and created objects.
    pub formula: Formula,
    pub(crate) when_true: Plan,
    pub(crate) when_false: Plan,
    /// Whether the formula mentions the atom itself, so that the two plans differ.
    pub(crate) shannon: bool,
    /// Where it is written.
    pub span: Span,
}

/// Which objects `%new` creates.
#[derive(Clone, Debug)]
pub enum Creation {
    /// One object.
    One,
    /// One for each object that satisfies the formula over this variable.
    Each(Var, Formula, Plan),
}

/// A formula over one variable, with its plan.
#[derive(Clone, Debug)]
pub struct Unary {
    /// The variable.
    pub var: Var,
    /// The formula.
    pub formula: Formula,
    pub(crate) plan: Plan,
}

/// An action.
#[derive(Clone, Debug)]
pub struct Action {
    /// What people see.
    pub title: String,
    /// Focus formulas, in order.
    pub focus: Vec<Formula>,
    pub(crate) focus_plans: Vec<FocusPlan>,
    /// Free variables of the precondition: one result per binding.
    pub bindings: Vec<Var>,
    /// The precondition.
    pub precondition: Option<Formula>,
    pub(crate) precondition_plan: Option<Plan>,
    /// The faster way to the bindings, where the precondition fits.
    pub(crate) binder: Option<Bindings>,
    /// Messages before the update.
    pub messages: Vec<Message>,
    /// Created objects.
    pub create: Option<Creation>,
    /// Cloned objects.
    pub cloned: Option<Unary>,
    /// Updates.
    pub updates: Vec<Update>,
    /// Objects that are kept.
    pub retain: Option<Unary>,
    /// Messages after the update, on the blurred result.
    pub post_messages: Vec<Message>,
    /// When to stop the whole analysis.
    pub halt: Option<(Formula, Plan)>,
    /// Where it is used.
    pub span: Span,
}

impl Update {
    /// Compiles an update. `None` when the formula nests too many variables.
    pub(crate) fn new(
        predicate: PredId,
        args: Vec<Var>,
        formula: Formula,
        bindings: &[Var],
        span: Span,
    ) -> Option<Self> {
        // Shannon expansion by the atom itself: p' = (p ? f[p:=1] : f[p:=0]).
        let yes = formula.with_atom(predicate, &args, Kleene::True);
        let no = formula.with_atom(predicate, &args, Kleene::False);
        Some(Self {
            shannon: yes != no,
            when_true: Plan::new(&yes, &args, bindings)?,
            when_false: Plan::new(&no, &args, bindings)?,
            predicate,
            args,
            formula,
            span,
        })
    }
}

/// The values of an update: the new ones, what is gained, what is lost.
pub(crate) struct Updated {
    pub(crate) new: Table,
    pub(crate) plus: Table,
    pub(crate) minus: Table,
}

impl Updated {
    pub(crate) fn new(old: &Table, yes: &Table, no: &Table, full: u64) -> Self {
        Self {
            new: Table::ite(old, yes, no),
            plus: no.clone().and(&old.clone().not(full)),
            minus: yes.clone().not(full).and(old),
        }
    }
}
