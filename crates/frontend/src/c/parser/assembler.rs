//! *Inline assembler* of gcc: `asm volatile ("template" : outputs : inputs : clobbers : labels)`.
//!
//! A template becomes the C that does the same, in terms of the compiler's atomic operations
//! ([`super::x86`] has the instructions). What is not understood is refused where it is reached, so
//! that headers may hold more than a program uses.

use palisade_program::Span;

use super::{Parse, Parser, x86};
use crate::c::ast::{Expr, ExprKind, Refusal, Stmt, StmtKind, Unary};
use crate::c::lexer::Kind;
use crate::c::types::Type;
use palisade_syntax::Parser as _;

/// An operand as written.
#[derive(Debug)]
pub(super) struct Operand {
    /// `[name]`
    pub(super) name: Option<String>,
    /// Without `=`, `+`, `&`, `%`.
    pub(super) constraint: String,
    pub(super) access: Access,
    pub(super) value: Expr,
    pub(super) ty: Option<Type>,
}

/// What the template does with an operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Access {
    Reads,
    Writes,
    /// `+`
    Both,
}

/// A whole `asm`.
pub(super) struct Assembler {
    pub(super) template: String,
    pub(super) operands: Vec<Operand>,
    /// Of `asm goto`.
    pub(super) labels: Vec<String>,
    pub(super) span: Span,
    /// A number that no other `asm` has, for labels.
    pub(super) number: usize,
}

impl Operand {
    /// Whether the compiler may take it in memory only.
    pub(super) fn is_memory(&self) -> bool {
        let letters = self.constraint.chars();
        self.constraint.contains(['m', 'o', 'V', 'Q']) && letters.clone().all(|c| !is_register(c))
    }

    /// The address of what is in memory.
    pub(super) fn address(&self) -> Expr {
        let span = self.value.span;
        let mut at = &self.value;
        while let ExprKind::Comma(_, e) = &at.kind {
            at = e;
        }
        match &at.kind {
            ExprKind::Unary(Unary::Deref, pointer) => (**pointer).clone(),
            _ => Expr {
                kind: ExprKind::Unary(Unary::Address, Box::new(self.value.clone())),
                span,
            },
        }
    }
}

/// Whether a letter of a constraint allows a register.
fn is_register(letter: char) -> bool {
    matches!(
        letter,
        'r' | 'q' | 'R' | 'l' | 'g' | 'X' | 'a' | 'b' | 'c' | 'd' | 'S' | 'D'
    )
}

impl Parser<'_> {
    /// The statement; `asm` stands here.
    pub(super) fn assembler(&mut self) -> Parse<StmtKind> {
        let start = self.span();
        let number = self.cursor.position();
        self.advance();
        while self.eat_word(&[
            "volatile",
            "__volatile",
            "__volatile__",
            "goto",
            "inline",
            "__inline",
            "__inline__",
        ]) {}
        self.expect("(")?;
        let mut template = String::new();
        while let Kind::Str(part) = &self.peek().kind {
            template.push_str(part);
            self.advance();
        }
        let mut operands = Vec::new();
        let mut labels = Vec::new();
        let mut section = 0;
        while !self.is(")") {
            // `::` may be one token.
            if self.eat("::") {
                section += 2;
            } else if self.eat(":") {
                section += 1;
            } else if section == 1 || section == 2 {
                operands.push(self.operand(section == 1)?);
                self.eat(",");
            } else if let Some(word) = self.word().map(str::to_owned) {
                labels.push(word);
                self.advance();
                self.eat(",");
            } else {
                // A clobber.
                self.advance();
                if self.at_end() {
                    return Err(self.unexpected("`)`"));
                }
            }
        }
        self.expect(")")?;
        self.expect(";")?;
        if operands.is_empty() && labels.is_empty() && !template.contains("%%") {
            return Ok(StmtKind::Asm(template));
        }
        let span = self.from(start);
        let assembler = Assembler {
            template,
            operands,
            labels,
            span,
            number,
        };
        let statements = |body: Vec<Stmt>| {
            let kind = ExprKind::Statements(body);
            StmtKind::Expr(Expr { kind, span })
        };
        Ok(
            match x86::translate(&assembler, &self.file.structs, self.model) {
                Ok(body) => statements(body),
                Err(what) => StmtKind::Refused(Refusal {
                    what,
                    help: "use an atomic builtin (`__atomic_...`), or switch the assembler off by the library's own options",
                    only_ordered: false,
                }),
            },
        )
    }

    /// `[name] "constraint" (expression)`
    fn operand(&mut self, is_output: bool) -> Parse<Operand> {
        let mut name = None;
        if self.eat("[") {
            name = self.word().map(str::to_owned);
            self.advance();
            self.expect("]")?;
        }
        let mut constraint = String::new();
        while let Kind::Str(part) = &self.peek().kind {
            constraint.push_str(part);
            self.advance();
        }
        self.expect("(")?;
        let value = self.expression()?;
        self.expect(")")?;
        let access = match (is_output, constraint.contains('+')) {
            (_, true) => Access::Both,
            (true, false) => Access::Writes,
            (false, false) => Access::Reads,
        };
        let ty = self.type_of(&value).map(|t| t.decayed());
        Ok(Operand {
            name,
            constraint: constraint.replace(['=', '+', '&', '%'], ""),
            access,
            value,
            ty,
        })
    }
}
