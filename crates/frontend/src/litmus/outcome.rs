//! The *outcome* of a litmus test: its final states, projected on what the
//! condition and `locations` name, and what the condition says of them.

use std::collections::BTreeSet;

use palisade_program::expr::wrap;

use super::LitmusTest;
use super::condition::{Prop, Quantifier};
use super::observe::{Atom, Observable, Slot};

/// `Ok` or `No`: whether the quantified condition holds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Answer {
    /// It holds.
    Ok,
    /// It does not.
    No,
}

/// How often the proposition holds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Observation {
    /// In no state.
    Never,
    /// In some, not in all.
    Sometimes,
    /// In every state.
    Always,
}

impl Observation {
    /// The word that herd prints.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Never => "Never",
            Self::Sometimes => "Sometimes",
            Self::Always => "Always",
        }
    }
}

impl Answer {
    /// The word that herd prints.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Ok => "Ok",
            Self::No => "No",
        }
    }
}

impl Quantifier {
    /// The word that herd prints behind a test's name.
    pub const fn kind(self) -> &'static str {
        match self {
            Self::Exists => "Allowed",
            Self::NotExists => "Forbidden",
            Self::Forall => "Required",
        }
    }

    /// The word that stands before the proposition.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Exists => "exists",
            Self::NotExists => "~exists",
            Self::Forall => "forall",
        }
    }
}

/// A final state: what is shown, with its values as text.
pub type State = Vec<(String, String)>;

/// What a test's final states say.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// The distinct final states, in order of their values.
    pub states: Vec<State>,
    /// In how many of them the proposition holds,
    pub positive: usize,
    /// and in how many it does not.
    pub negative: usize,
    /// Whether the condition holds.
    pub answer: Answer,
    /// How often the proposition holds.
    pub observation: Observation,
    /// The condition as herd prints it: `exists (0:EAX=0 /\ 1:EAX=0)`.
    pub condition: String,
}

impl LitmusTest {
    /// The answer, from all final states; `read` gives a slot's value in a state.
    pub fn judge<S>(
        &self,
        finals: impl IntoIterator<Item = S>,
        read: impl Fn(&S, &Slot) -> i64,
    ) -> Outcome {
        let condition = &self.condition;
        let mut kept: BTreeSet<(Vec<i128>, bool)> = BTreeSet::new();
        for state in finals {
            let values: Vec<i64> = condition
                .slots()
                .map(|(slot, ty)| {
                    let raw = read(&state, slot);
                    let shift = match slot {
                        Slot::Local { shift, .. } => *shift,
                        Slot::Cell { .. } => 0,
                    };
                    wrap(i128::from(raw >> shift), ty.bits, false)
                })
                .collect();
            let passes = condition.filter.as_ref().is_none_or(|f| holds(f, &values));
            if !passes {
                continue;
            }
            let shown = condition
                .slots()
                .zip(&values)
                .map(|((_, ty), v)| ty.shown(*v));
            let visible = condition.shown.iter().map(|o| o.slots.len()).sum();
            kept.insert((
                shown.take(visible).collect(),
                holds(&condition.prop, &values),
            ));
        }
        let positive = kept.iter().filter(|(_, holds)| *holds).count();
        let negative = kept.len() - positive;
        let answer = match condition.quantifier {
            Quantifier::Exists => positive > 0,
            Quantifier::NotExists => positive == 0,
            Quantifier::Forall => negative == 0,
        };
        Outcome {
            states: kept.iter().map(|(values, _)| self.state(values)).collect(),
            positive,
            negative,
            answer: if answer { Answer::Ok } else { Answer::No },
            observation: match (positive, negative) {
                (0, _) => Observation::Never,
                (_, 0) => Observation::Always,
                (_, _) => Observation::Sometimes,
            },
            condition: self.question(),
        }
    }

    /// The condition as herd prints it.
    pub fn question(&self) -> String {
        let prop = self.condition.prop.show(&|atom| match atom {
            Atom::Is { text, .. } | Atom::Same { text, .. } => text.clone(),
        });
        format!("{} ({prop})", self.condition.quantifier.word())
    }

    fn state(&self, values: &[i128]) -> State {
        let mut rest = values;
        let mut state = Vec::new();
        for observable in &self.condition.shown {
            let (own, after) = rest.split_at(observable.slots.len());
            rest = after;
            state.push((observable.label.clone(), self.show(observable, own)));
        }
        state
    }

    fn show(&self, observable: &Observable, values: &[i128]) -> String {
        let one = |value: &i128| {
            let known = self.names.iter().find(|(a, _)| i128::from(*a) == *value);
            known.map_or_else(|| value.to_string(), |(_, name)| name.clone())
        };
        let parts: Vec<String> = values.iter().map(one).collect();
        if observable.is_array {
            format!("{{{}}}", parts.join(","))
        } else {
            parts.join(",")
        }
    }
}

fn holds(prop: &Prop<Atom>, values: &[i64]) -> bool {
    prop.eval(&|atom| match atom {
        Atom::Is { at, value, .. } => values[*at] == *value,
        Atom::Same { at, other, .. } => values[*at] == values[*other],
    })
}
