//! The *variables* of a Boolean program: one for each predicate, and one for each value of an
//! explicit variable, with what is known of them at first.

use palisade_logic::{Formula, Lit, Prover};

use super::{ExportError, Exporter, STATES, plain, property};
use crate::ast::{At, BooleanProgram, Expr, Value, Variable};
use palisade_abstraction::cubes::contradict;
use palisade_abstraction::space::SlotKind;
use palisade_abstraction::tables::evaluated;
use palisade_abstraction::valuation::{PredId, PredSet};

impl<'e> Exporter<'e, '_> {
    /// Names for the explicit variables: letters and digits, copies of one local the same.
    pub(super) fn explicit_names(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        let mut origins: Vec<SlotKind> = Vec::new();
        for &slot in &self.space.explicit {
            let slot = &self.space.slots[slot];
            let (wanted, origin) = match slot.kind {
                SlotKind::Local(thread, local) if self.is_replicated(thread) => {
                    let template = self.space.threads[thread].template;
                    let name = &self.space.program.template(template).local(local).name;
                    let mut threads = self.space.threads.iter();
                    let first = threads.position(|t| t.template == template);
                    let origin = SlotKind::Local(first.unwrap_or(thread), local);
                    (format!("own_{}", plain(name)), origin)
                }
                SlotKind::Local(..) | SlotKind::Cell(_) => (plain(&slot.name), slot.kind),
            };
            let name = match origins.iter().position(|o| *o == origin) {
                Some(known) => names[known].clone(),
                // `a[1]` and `a_1`.
                None if names.contains(&wanted) => format!("{wanted}_{}", names.len()),
                None => wanted,
            };
            names.push(name);
            origins.push(origin);
        }
        names
    }

    /// Explicit variables are one Boolean per value.
    pub(super) fn explicit_name(&self, position: usize, value: i64) -> String {
        let sign = if value < 0 { "m" } else { "" };
        let name = &self.explicit[position];
        format!("{name}_is_{sign}{}", value.unsigned_abs())
    }

    /// Declares a variable: of this thread, or shared.
    fn declare(&mut self, program: &mut BooleanProgram, owner: Option<usize>, variable: Variable) {
        match owner {
            Some(thread) => self.locals[thread].push(variable),
            None => program.shared.push(variable),
        }
    }

    pub(super) fn explicit_values(&self, position: usize) -> &'e [i64] {
        let slot = &self.space.slots[self.space.explicit[position]];
        slot.explicit.as_ref().map_or(&[], |e| &e.values)
    }

    /// The values that the Boolean variables of an explicit variable stand for:
    /// its own, and 0, which dead locals have.
    pub(super) fn tracked_values(&self, position: usize) -> Vec<i64> {
        let mut values = self.explicit_values(position).to_vec();
        values.push(0);
        values.sort_unstable();
        values.dedup();
        values
    }

    pub(super) fn variables(
        &mut self,
        program: &mut BooleanProgram,
        initial: &Formula,
    ) -> Result<(), ExportError> {
        let facts = self.literals(initial);
        let mut open: Vec<PredId> = Vec::new();
        for p in 0..self.predicates.len() {
            let lit = self.slots[p].1;
            let known = |prover: &mut Prover, lit: Lit| {
                let mut lits = facts.clone();
                lits.push(lit);
                contradict(prover, STATES, &lits)
            };
            let init = match evaluated(self.prover, self.predicates, &facts, p) {
                Some(true) => Value::True,
                Some(false) => Value::False,
                None if known(&mut *self.prover, !lit)? => Value::True,
                None if known(&mut *self.prover, lit)? => Value::False,
                None => Value::Any,
            };
            let predicate = self.predicates.formula(p, true);
            if self.predicates.is_of_set(p) {
                for (value, who) in [(true, "all"), (false, "no")] {
                    let known = init == if value { Value::True } else { Value::False };
                    let note = format!("{who} elements: {}", predicate.display(self.space));
                    program.shared.push(Variable {
                        name: self.of_set(p, value),
                        init: if known { Value::True } else { Value::False },
                        note: Some(note),
                        at: At::default(),
                    });
                }
                continue;
            }
            let variable = Variable {
                name: self.name(p),
                init,
                note: Some(predicate.display(self.space).to_string()),
                at: At::default(),
            };
            // First states are conditions on shared variables only.
            if init == Value::Any && self.owner(p).is_none() {
                open.push(p);
            }
            self.declare(program, self.owner(p), variable);
        }
        self.explicit_variables(program);
        if open.len() > 1 && self.options.relate {
            let mut cone = PredSet::new(self.predicates.len());
            for p in &open {
                cone.insert(*p);
            }
            let impossible = self.contradictions(STATES, &facts, (&cone, &[]), &[])?;
            if !impossible.cubes().is_empty() {
                let cond = self.cover(&impossible).negated();
                program.initially.push(property(cond, None));
            }
        }
        Ok(())
    }

    /// One Boolean for each value; where several first values are possible, exactly
    /// one of them holds.
    fn explicit_variables(&mut self, program: &mut BooleanProgram) {
        let controls = self.space.initial_controls();
        for position in 0..self.space.explicit.len() {
            let slot = &self.space.slots[self.space.explicit[position]];
            let owner = match slot.kind {
                SlotKind::Local(thread, _) if self.is_replicated(thread) => Some(thread),
                SlotKind::Local(..) | SlotKind::Cell(_) => None,
            };
            let first = |v: i64| controls.iter().filter(|c| c.values[position] == v).count();
            let mut choices = Vec::new();
            for value in self.tracked_values(position) {
                let init = match first(value) {
                    0 => Value::False,
                    n if n == controls.len() => Value::True,
                    _ => Value::Any,
                };
                let name = self.explicit_name(position, value);
                if init == Value::Any && owner.is_none() {
                    choices.push(name.clone());
                }
                let variable = Variable {
                    name,
                    init,
                    note: Some(format!("{} = {value}", slot.name)),
                    at: At::default(),
                };
                self.declare(program, owner, variable);
            }
            if !choices.is_empty() {
                let one = |chosen: &String| {
                    Expr::all(choices.iter().map(|other| {
                        let name = Expr::name(other.clone());
                        if other == chosen {
                            name
                        } else {
                            name.negated()
                        }
                    }))
                };
                let cond = Expr::any(choices.iter().map(one));
                program.initially.push(property(cond, None));
            }
        }
    }
}
