//! Formulas as numbers. A [`Lit`] stands for a formula or its negation; the
//! table gives a formula and its negation the same number, so that queries are
//! sets of small integers and can be compared, stored and looked up cheaply.

use crate::eval::Assignment;
use crate::form::{Form, Places};
use crate::formula::Formula;
use crate::names::Var;
use crate::term::Overflow;
use rustc_hash::FxHashMap;
use std::ops::Not;

/// A formula of a `Literals` table, or the negation of one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Lit(u32);

impl Lit {
    /// The formula that holds everywhere, in every table.
    pub const TRUE: Self = Self(0);
    /// The formula that holds nowhere.
    pub const FALSE: Self = Self(1);

    /// The number shared by a formula and its negation.
    pub const fn index(self) -> usize {
        (self.0 >> 1) as usize
    }

    /// Whether this is the table's formula itself.
    pub const fn is_positive(self) -> bool {
        self.0 & 1 == 0
    }
}

impl Not for Lit {
    type Output = Self;

    fn not(self) -> Self {
        Self(self.0 ^ 1)
    }
}

/// The table of formulas that have a number.
#[derive(Debug)]
pub(crate) struct Literals {
    formulas: Vec<Formula>,
    vars: Vec<Box<[Var]>>,
    forms: Vec<[Form; 2]>,
    places: Places,
    opaque: Vec<bool>,
    numbers: FxHashMap<Formula, u32>,
}

impl Default for Literals {
    fn default() -> Self {
        let numbers = std::iter::once((Formula::True, 0)).collect();
        let mut places = Places::default();
        let forms = [Formula::True, Formula::False].map(|f| Form::of(&f, &mut places));
        Self {
            formulas: vec![Formula::True],
            vars: vec![Box::new([])],
            forms: vec![forms],
            places,
            opaque: vec![false],
            numbers,
        }
    }
}

impl Literals {
    /// The literal of `formula`; new formulas get the next number.
    pub(crate) fn intern(&mut self, formula: &Formula) -> Lit {
        if let Some(lit) = self.find(formula) {
            return lit;
        }
        let opposite = formula.negated();
        if let Some(lit) = self.find(&opposite) {
            return !lit;
        }
        let number = self.formulas.len() as u32;
        // An atom is kept rather than its negation; else the first form met.
        let negative = matches!(formula, Formula::Literal(l) if !l.positive);
        let (kept, other) = if negative {
            (opposite, formula.clone())
        } else {
            (formula.clone(), opposite)
        };
        self.opaque.push(kept.has_opaque_keys());
        self.forms
            .push([&kept, &other].map(|f| Form::of(f, &mut self.places)));
        self.numbers.insert(kept.clone(), number);
        self.vars.push(kept.free_vars().into_iter().collect());
        self.formulas.push(kept);
        Lit(number << 1 | u32::from(negative))
    }

    fn find(&self, formula: &Formula) -> Option<Lit> {
        match formula {
            Formula::False => Some(Lit::FALSE),
            Formula::True => Some(Lit::TRUE),
            Formula::Literal(_) | Formula::And(_) | Formula::Or(_) | Formula::Iff(_) => {
                self.numbers.get(formula).map(|number| Lit(number << 1))
            }
        }
    }

    /// The formula of a number, without its sign.
    pub(crate) fn base(&self, index: usize) -> &Formula {
        &self.formulas[index]
    }

    /// The formula that `lit` stands for.
    pub(crate) fn formula(&self, lit: Lit) -> Formula {
        let base = self.base(lit.index());
        if lit.is_positive() {
            base.clone()
        } else {
            base.negated()
        }
    }

    /// The variables of a number's formula, sorted.
    pub(crate) fn vars(&self, index: usize) -> &[Var] {
        &self.vars[index]
    }

    /// What `lit` says in difference bounds.
    pub(crate) fn form(&self, lit: Lit) -> &Form {
        &self.forms[lit.index()][usize::from(!lit.is_positive())]
    }

    /// The variables in forms.
    pub(crate) fn places(&self) -> &Places {
        &self.places
    }

    /// Whether `lit` contains divisions, remainders or choices.
    pub(crate) fn is_opaque(&self, lit: Lit) -> bool {
        self.opaque[lit.index()]
    }

    /// Whether `lit` holds under `assignment`.
    pub(crate) fn holds(&self, lit: Lit, assignment: &Assignment) -> Result<bool, Overflow> {
        Ok(self.base(lit.index()).eval(assignment)? == lit.is_positive())
    }
}
