//! Reading an atom as a person writes it: `x < y`, `t[0].r = s + 1`,
//! `2*x - y <= 3`, `(x % 4) != 0`, comparisons joined by `&&`, `||`, `!`, `<=>`
//! and `c ? a : b`. What [`palisade_logic`] prints is read back as the same
//! formula: both sides have one normal form.
//!
//! The text is read in one pass by binding strength into a value that is either
//! a term or a formula; an operator that gets the wrong one is an error.

use crate::names::StateNames;
use crate::parse::{Line, ParseError};
use crate::token::Token;
use palisade_logic::{Formula, Overflow, Term};

/// Parentheses and signs nested deeper than this are refused: no certificate
/// needs them, and recursion must end somewhere.
const MAX_DEPTH: u32 = 100;

/// What a part of the text stands for.
#[derive(Clone, Debug)]
enum Value {
    Term(Term),
    Formula(Formula),
}

/// Reads one formula from a line.
pub(crate) struct AtomReader<'a> {
    pub(crate) line: &'a mut Line,
    pub(crate) names: &'a StateNames,
    pub(crate) depth: u32,
}

/// Operators by binding strength, weakest first.
const LEVELS: [&[&str]; 6] = [
    &["<=>"],
    &["||"],
    &["&&"],
    &["<=", ">=", "==", "!=", "<", ">", "="],
    &["+", "-"],
    &["*", "/", "%"],
];

impl AtomReader<'_> {
    pub(crate) fn read(mut self) -> Result<Formula, ParseError> {
        match self.choice()? {
            Value::Formula(formula) => Ok(formula),
            Value::Term(_) => Err(self.line.error("expected a comparison")),
        }
    }

    fn choice(&mut self) -> Result<Value, ParseError> {
        let condition = self.level(0)?;
        if !self.line.sign("?") {
            return Ok(condition);
        }
        let condition = self.formula(condition)?;
        let then = self.level(0)?;
        self.line.expect(":")?;
        match (then, self.level(0)?) {
            (Value::Term(a), Value::Term(b)) => Ok(Value::Term(Term::ite(&condition, &a, &b))),
            (Value::Formula(a), Value::Formula(b)) => {
                Ok(Value::Formula(Formula::ite(&condition, &a, &b)))
            }
            (Value::Term(_), Value::Formula(_)) | (Value::Formula(_), Value::Term(_)) => Err(self
                .line
                .error_before("a choice between a number and a truth value")),
        }
    }

    fn level(&mut self, level: usize) -> Result<Value, ParseError> {
        let Some(operators) = LEVELS.get(level) else {
            return self.unary();
        };
        let mut left = self.level(level + 1)?;
        while let Some(operator) = operators.iter().find(|o| self.line.is_sign(o)) {
            self.line.skip();
            let right = self.level(level + 1)?;
            left = self.apply(operator, left, right)?;
        }
        Ok(left)
    }

    fn apply(&self, operator: &str, left: Value, right: Value) -> Result<Value, ParseError> {
        if matches!(operator, "<=>" | "||" | "&&") {
            let (a, b) = (self.formula(left)?, self.formula(right)?);
            return Ok(Value::Formula(match operator {
                "<=>" => Formula::iff(&a, &b),
                "||" => a.or(&b),
                _ => a.and(&b),
            }));
        }
        let (a, b) = (self.term(left)?, self.term(right)?);
        let value = match operator {
            "<=" => Formula::le(&a, &b).map(Value::Formula),
            ">=" => Formula::ge(&a, &b).map(Value::Formula),
            "=" | "==" => Formula::eq(&a, &b).map(Value::Formula),
            "!=" => Formula::ne(&a, &b).map(Value::Formula),
            "<" => Formula::lt(&a, &b).map(Value::Formula),
            ">" => Formula::gt(&a, &b).map(Value::Formula),
            "+" => a.plus(&b).map(Value::Term),
            "-" => a.minus(&b).map(Value::Term),
            "*" => return self.product(&a, &b).map(Value::Term),
            _ => return self.division(operator, &a, &b).map(Value::Term),
        };
        self.in_range(value)
    }

    fn in_range<T>(&self, value: Result<T, Overflow>) -> Result<T, ParseError> {
        value.map_err(|e| self.line.error_before(&e.to_string()))
    }

    fn product(&self, a: &Term, b: &Term) -> Result<Term, ParseError> {
        match (a.as_constant(), b.as_constant()) {
            (Some(factor), _) => self.in_range(b.times(factor)),
            (None, Some(factor)) => self.in_range(a.times(factor)),
            (None, None) => Err(self.line.error_before("a product of two variables")),
        }
    }

    fn division(&self, operator: &str, a: &Term, b: &Term) -> Result<Term, ParseError> {
        match b.as_constant() {
            Some(divisor) if divisor > 0 && operator == "/" => self.in_range(a.div(divisor)),
            Some(divisor) if divisor > 0 => self.in_range(a.modulo(divisor)),
            Some(_) | None => Err(self.line.error_before("expected a positive constant")),
        }
    }

    fn unary(&mut self) -> Result<Value, ParseError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.line.error("nested too deeply"));
        }
        let value = self.operand();
        self.depth -= 1;
        value
    }

    fn operand(&mut self) -> Result<Value, ParseError> {
        let token = self.line.peek().cloned();
        if token.is_some() {
            self.line.skip();
        }
        match token {
            Some(Token::Sign("-")) => {
                let value = self.unary()?;
                Ok(Value::Term(self.term(value)?.negated()))
            }
            Some(Token::Sign("!")) => {
                let value = self.unary()?;
                Ok(Value::Formula(self.formula(value)?.negated()))
            }
            Some(Token::Sign("(")) => {
                let value = self.choice()?;
                self.line.expect(")")?;
                Ok(value)
            }
            Some(Token::Number(digits)) => {
                let number = digits.parse().ok().map(Term::wide_constant);
                let number = number.and_then(Result::ok).map(Value::Term);
                number.ok_or_else(|| self.line.error_before("this number exceeds 96 bits"))
            }
            Some(Token::Name(name)) => self.named(&name),
            Some(Token::Sign(_)) => Err(self.line.error_before("expected a variable or a number")),
            None => Err(self.line.error("expected a variable or a number")),
        }
    }

    fn named(&self, name: &str) -> Result<Value, ParseError> {
        if let Some(var) = self.names.find(name) {
            let var = var.var();
            let var = var.ok_or_else(|| self.line.error_before("this slot is out of range"))?;
            return Ok(Value::Term(Term::var(var)));
        }
        match name {
            "true" => Ok(Value::Formula(Formula::True)),
            "false" => Ok(Value::Formula(Formula::False)),
            _ => {
                let message = format!("the program has no variable `{name}`");
                Err(self.line.error_before(&message))
            }
        }
    }

    fn term(&self, value: Value) -> Result<Term, ParseError> {
        match value {
            Value::Term(term) => Ok(term),
            Value::Formula(_) => Err(self.line.error_before("expected a number")),
        }
    }

    fn formula(&self, value: Value) -> Result<Formula, ParseError> {
        match value {
            Value::Formula(formula) => Ok(formula),
            Value::Term(_) => Err(self.line.error_before("expected a truth value")),
        }
    }
}
