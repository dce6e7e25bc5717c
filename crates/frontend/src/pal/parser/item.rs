//! Declarations: constants, shared variables, functions, threads, properties.

use palisade_program::{PropertyKind, Span};

use super::{Parse, Parser, Syntax};
use crate::diagnostic::Diagnostic;
use crate::pal::ast::{Copies, Decl, DeclInit, File, Function, Item, Property, Stmt, Unit};
use crate::pal::token::BUILTINS;

/// Words that start a declaration at the top level.
pub(super) const ITEM_WORDS: &[&str] = &[
    "shared",
    "const",
    "thread",
    "process",
    "fn",
    "never",
    "finally",
    "predicate",
    "reach",
];

impl Parser<'_> {
    pub(super) fn file(&mut self) -> File {
        let mut file = File::default();
        while !self.at_end() && !self.too_many_errors() {
            let start = self.position();
            if let Ok(item) = self.item() {
                file.items.push(item);
            } else {
                self.recover_item(start);
            }
        }
        file
    }

    /// After an error in a declaration: skips to the next word that starts one.
    fn recover_item(&mut self, start: usize) {
        self.mark_skipped(start);
        if self.position() == start {
            self.skip();
        }
        while !self.at_end() && !ITEM_WORDS.contains(&self.word()) {
            self.skip();
        }
    }

    fn item(&mut self) -> Parse<Item> {
        match self.word() {
            "shared" => Ok(Item::Shared(self.declarations("shared variable")?)),
            "const" => self.constant(),
            "thread" => self.unit(false),
            "process" => self.unit(true),
            "fn" => self.function(),
            "never" => self.property(PropertyKind::Never),
            "finally" => self.property(PropertyKind::Finally),
            "predicate" => self.predicate(),
            "reach" => self.reach(),
            _ => Err(self.not_an_item()),
        }
    }

    fn not_an_item(&mut self) -> super::Failed {
        let what = "a declaration";
        let word = self.word();
        if self.is("}") {
            let error = Diagnostic::error(self.span(), "unmatched `}`")
                .label("nothing is open here")
                .help("remove it, or look for a missing `{` above");
            return self.error(error);
        }
        if let Some(near) = crate::pal::suggest::nearest(word, ITEM_WORDS.iter().copied()) {
            return self.expected(what, &format!("did you mean `{near}`?"));
        }
        if ["spec", "struct", "circular", "method"].contains(&word) {
            return self.expected(
                what,
                "data structures with methods are checked by `palisade linearize`",
            );
        }
        if ["local", "int"].contains(&word) {
            return self.expected(
                what,
                "locals are declared inside a thread; use `shared` here",
            );
        }
        self.expected(
            what,
            "a file is made of `shared`, `const`, `fn`, `thread`, `process`, `never`, `finally`, `reach` and `predicate`",
        )
    }

    fn constant(&mut self) -> Parse<Item> {
        self.advance();
        let name = self.name("the constant's name")?;
        self.need("=", "write `const N = 3;`")?;
        let value = self.expr()?;
        self.need(";", "end the declaration with `;`")?;
        Ok(Item::Const { name, value })
    }

    /// `shared ...;`, `local ...;`, `int ...;` with the word still to come.
    pub(super) fn declarations(&mut self, what: &str) -> Parse<Vec<Decl>> {
        self.advance();
        let mut all = vec![self.declaration(what)?];
        while self.eat(",") {
            all.push(self.declaration(what)?);
        }
        self.need(";", "end the declaration with `;`")?;
        Ok(all)
    }

    fn declaration(&mut self, what: &str) -> Parse<Decl> {
        let start = self.span();
        let control = self.is_word("control") && !self.word_at(1).is_empty() && {
            let next = self.word_at(1);
            next != "in" || !self.sym_is_value(2)
        };
        if control {
            self.advance();
        }
        let name = self.name(&format!("the {what}'s name"))?;
        let len = if self.eat("[") {
            let len = self.expr()?;
            self.need("]", "close the array's size with `]`")?;
            Some(len)
        } else {
            None
        };
        let domain = if self.eat_word("in") {
            let lo = self.expr()?;
            self.need("..", "write the range as `in 0..3`, both ends included")?;
            Some((lo, self.expr()?))
        } else {
            None
        };
        let init = if self.eat("=") {
            self.initial_value()?
        } else {
            DeclInit::None
        };
        let span = start.to(self.last_span());
        Ok(Decl {
            control,
            name,
            len,
            domain,
            init,
            span,
        })
    }

    /// Whether the token `n` ahead can start a value: tells `control in 0..2` (a
    /// variable called control) from `control in = 0` (a variable called in).
    fn sym_is_value(&self, n: usize) -> bool {
        !(self.is_at(n, "=")
            || self.is_at(n, ";")
            || self.is_at(n, "[")
            || self.is_at(n, ",")
            || self.word_at(n) == "in")
    }

    fn initial_value(&mut self) -> Parse<DeclInit> {
        let open = self.span();
        if !self.eat("{") {
            return Ok(DeclInit::Value(self.expr()?));
        }
        let mut values = Vec::new();
        while !self.is("}") {
            values.push(self.expr()?);
            if !self.eat(",") {
                break;
            }
        }
        let close = self.need("}", "close the list of initial values with `}`")?;
        Ok(DeclInit::List(values, open.to(close)))
    }

    fn function(&mut self) -> Parse<Item> {
        self.advance();
        if BUILTINS.contains(&self.word()) {
            let message = format!("`{}` is a built-in function", self.word());
            let error = Diagnostic::error(self.span(), message)
                .label("cannot be defined again")
                .help("choose another name");
            self.error(error);
        }
        let name = self.name("the function's name")?;
        self.need("(", "write `fn f(a, b) { ... }`")?;
        let mut params = Vec::new();
        while !self.is(")") {
            params.push(self.name("a parameter's name")?);
            if !self.eat(",") {
                break;
            }
        }
        self.need(")", "close the parameters with `)`")?;
        let (body, _) = self.block()?;
        Ok(Item::Function(Function { name, params, body }))
    }

    fn unit(&mut self, is_process: bool) -> Parse<Item> {
        let start = self.advance().span;
        let name = self.name(if is_process {
            "the process's name"
        } else {
            "the thread's name"
        })?;
        let count = self.copies()?;
        let head = start.to(self.last_span());
        let (body, _): (Vec<Stmt>, Span) = self.block()?;
        Ok(Item::Unit(Unit {
            is_process,
            name,
            count,
            body,
            span: head,
        }))
    }

    fn copies(&mut self) -> Parse<Copies> {
        if !self.eat("[") {
            return Ok(Copies::Once);
        }
        let any = self.is("*") && self.is_at(1, "]");
        let count = if any {
            self.advance();
            Copies::Any
        } else {
            Copies::Fixed(self.expr()?)
        };
        self.need("]", "close the number of copies with `]`")?;
        Ok(count)
    }

    fn property(&mut self, kind: PropertyKind) -> Parse<Item> {
        let start = self.advance().span;
        let cond = self.expr()?;
        let end = self.need(";", "end the property with `;`")?;
        Ok(Item::Property(Property {
            kind,
            cond,
            span: start.to(end),
        }))
    }

    fn reach(&mut self) -> Parse<Item> {
        let start = self.advance().span;
        let cond = self.expr()?;
        let end = self.need(";", "end the property with `;`")?;
        Ok(Item::Reach {
            cond,
            span: start.to(end),
        })
    }

    fn predicate(&mut self) -> Parse<Item> {
        let start = self.advance().span;
        let cond = self.expr()?;
        let end = self.need(";", "end the predicate with `;`")?;
        Ok(Item::Predicate {
            cond,
            span: start.to(end),
        })
    }
}
