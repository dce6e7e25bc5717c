//! *Flags*: what `set..`, `j..` and outputs like `"=@ccz"` ask, and jumps.

use super::super::assembler::{Access, Operand};
use super::{Flags, Part, Translator};
use crate::c::ast::{Binary, Expr, StmtKind, Unary};
use crate::c::types::Type;

impl Translator<'_> {
    /// A condition as `set` and `j` name it.
    pub(super) fn condition(&self, name: &str) -> Option<Expr> {
        let negated = |e: Expr| self.unary(Unary::Not, e);
        let zero = |e: Expr| self.binary(Binary::Eq, e, self.int(0));
        match (&self.flags, name) {
            (Flags::Zero(z), "e" | "z") => Some(self.var(z)),
            (Flags::Zero(z), "ne" | "nz") => Some(negated(self.var(z))),
            (Flags::Result(r), "e" | "z") => Some(zero(self.var(r))),
            (Flags::Result(r), "ne" | "nz") => Some(negated(zero(self.var(r)))),
            (Flags::Carry(c), "c" | "b" | "nae") => Some(self.var(c)),
            (Flags::Carry(c), "nc" | "ae" | "nb") => Some(negated(self.var(c))),
            (Flags::Compared(l, r, ty), _) => {
                let signed = match ty {
                    Type::Int { bits, .. } => Type::Int {
                        bits: *bits,
                        signed: true,
                    },
                    _ => return None,
                };
                let (op, is_signed) = match name {
                    "e" | "z" => (Binary::Eq, false),
                    "ne" | "nz" => (Binary::Ne, false),
                    "b" | "c" | "nae" => (Binary::Lt, false),
                    "ae" | "nc" | "nb" => (Binary::Ge, false),
                    "a" | "nbe" => (Binary::Gt, false),
                    "be" | "na" => (Binary::Le, false),
                    "l" | "nge" => (Binary::Lt, true),
                    "ge" | "nl" => (Binary::Ge, true),
                    "g" | "nle" => (Binary::Gt, true),
                    "le" | "ng" => (Binary::Le, true),
                    _ => return None,
                };
                let side = |name: &str| {
                    let value = self.var(name);
                    if is_signed {
                        self.cast(&signed, value)
                    } else {
                        value
                    }
                };
                Some(self.binary(op, side(l), side(r)))
            }
            _ => None,
        }
    }

    pub(super) fn jump(&mut self, condition: &str, to: &str, refused: &str) -> Part<()> {
        let label = match to.strip_prefix("%l") {
            Some(user) => self.users_label(user),
            None => self.own_label(to),
        };
        let label = label.ok_or_else(|| refused.to_owned())?;
        let goto = self.stmt(StmtKind::Goto(label));
        let stmt = if condition == "mp" {
            goto
        } else {
            let condition = self
                .condition(condition)
                .ok_or_else(|| refused.to_owned())?;
            self.stmt(StmtKind::If(condition, Box::new(goto), None))
        };
        self.body.push(stmt);
        Ok(())
    }

    /// A label of `asm goto`, by its name or number. Outputs would have to be written before.
    fn users_label(&self, word: &str) -> Option<String> {
        let writes = |o: &Operand| o.access != Access::Reads && !o.is_memory();
        if self.asm.operands.iter().any(writes) {
            return None;
        }
        if let Some(name) = word.strip_prefix('[') {
            return name.strip_suffix(']').map(str::to_owned);
        }
        let number: usize = word.parse().ok()?;
        let at = number.checked_sub(self.asm.operands.len())?;
        self.asm.labels.get(at).cloned()
    }

    /// `1f` and `1b` name the next and the last label `1`: only labels that are written once
    /// are followed.
    fn own_label(&self, word: &str) -> Option<String> {
        let digits = word.trim_end_matches(['f', 'b']);
        let is_number = !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit());
        let name = if is_number { digits } else { word };
        let written = self.asm.template.matches(&format!("{name}:")).count();
        (written == 1).then(|| self.label_name(name))
    }
}
