//! Statements.

use palisade_program::{AtomicKind, BinOp, FenceKind, Order, RemoteOp, Span};

use super::item::ITEM_WORDS;
use super::{Parse, Parser, Syntax};
use crate::diagnostic::Diagnostic;
use crate::pal::ast::{Expr, ExprKind, Place, Process, RemoteAtomic, RemoteChange, Stmt, StmtKind};
use crate::pal::token::{RESERVED, Tok, is_reserved};

const SEMICOLON: &str = "end the statement with `;`";

/// Words that start a statement: where recovery may stop.
const STATEMENT_WORDS: &[&str] = &[
    "if", "while", "do", "for", "break", "continue", "goto", "choose", "assume", "assert", "skip",
    "atomic", "fence", "return", "local", "int",
];

/// `{ ... }` with the span of the braces; `reader` is this parser or one around it. `is_item` says
/// which words can only start a declaration at the top level: a brace is missing above them.
/// Recovery from an error may stop at `words`.
pub(crate) fn block<'a, R: AsMut<Parser<'a>>, S>(
    reader: &mut R,
    is_item: fn(&str) -> bool,
    words: &[&str],
    stmt: fn(&mut R) -> Parse<S>,
) -> Parse<(Vec<S>, Span)> {
    let open = reader.as_mut().span();
    reader.as_mut().need("{", "open the block with `{`")?;
    let mut body = Vec::new();
    loop {
        let parser = reader.as_mut();
        if parser.is("}") {
            return Ok((body, open.to(parser.advance().span)));
        }
        if parser.at_end() || is_item(parser.word()) {
            let error = Diagnostic::error(open, "unclosed `{`")
                .label("this block is never closed")
                .help(format!("add the missing `}}` before {}", parser.found()));
            return Err(parser.error(error));
        }
        if parser.too_many_errors() {
            return Err(super::Failed);
        }
        let start = parser.position();
        if let Ok(stmt) = stmt(reader) {
            body.push(stmt);
        } else {
            reader.as_mut().recover_stmt(start, is_item, words);
        }
    }
}

/// `shared` may stand in a process.
fn is_item_in_block(word: &str) -> bool {
    word != "shared" && is_reserved(word) && ITEM_WORDS.contains(&word)
}

impl Parser<'_> {
    pub(super) fn block(&mut self) -> Parse<(Vec<Stmt>, Span)> {
        block(self, is_item_in_block, STATEMENT_WORDS, Self::stmt)
    }

    /// After an error in a statement: skips past its `;`, or up to a `}` or a word
    /// that starts a statement. Blocks on the way are skipped whole.
    fn recover_stmt(&mut self, start: usize, is_item: fn(&str) -> bool, words: &[&str]) {
        self.mark_skipped(start);
        let mut open = 0_u32;
        while !self.at_end() && !is_item(self.word()) {
            let fresh = self.position() > start;
            if open == 0 && ((fresh && words.contains(&self.word())) || self.is("}")) {
                return;
            }
            let (semicolon, closed) = (self.is(";"), self.is("}"));
            open += u32::from(self.is("{"));
            open -= u32::from(closed);
            self.skip();
            if open == 0 && (semicolon || closed) {
                return;
            }
        }
    }

    fn stmt(&mut self) -> Parse<Stmt> {
        self.nested(Self::stmt_here)
    }

    fn stmt_here(&mut self) -> Parse<Stmt> {
        let mut labels = Vec::new();
        while self.peek().kind == Tok::Name && self.is_at(1, ":") {
            labels.push(self.name("a label")?);
            self.advance();
        }
        if !labels.is_empty() && self.is("}") {
            let end = self.last_span();
            return Ok(Stmt {
                labels,
                kind: StmtKind::Empty,
                span: end,
            });
        }
        let start = self.span();
        let kind = self.stmt_kind()?;
        Ok(Stmt {
            labels,
            kind,
            span: start.to(self.last_span()),
        })
    }

    fn stmt_kind(&mut self) -> Parse<StmtKind> {
        match self.peek().kind {
            Tok::Sym(";") => {
                self.advance();
                Ok(StmtKind::Empty)
            }
            Tok::Sym("{") => Ok(StmtKind::Block(self.block()?.0)),
            Tok::Sym("++" | "--") => {
                let kind = self.prefix_step()?;
                self.need(";", SEMICOLON)?;
                Ok(kind)
            }
            Tok::Name => self.worded(),
            Tok::Sym(_) | Tok::Int(_) | Tok::End => {
                Err(self.expected("a statement", "remove it or write a statement here"))
            }
        }
    }

    fn worded(&mut self) -> Parse<StmtKind> {
        match self.word() {
            "if" => self.if_else(),
            "while" => {
                self.advance();
                let cond = self.in_parentheses()?;
                let body = Box::new(self.stmt()?);
                Ok(StmtKind::While { cond, body })
            }
            "do" => self.do_while(),
            "for" => self.for_loop(),
            "choose" if self.is_at(1, "{") => self.choose_block(),
            "atomic" => {
                self.advance();
                let kind = self.atomic_kind()?;
                Ok(StmtKind::Atomic(kind, self.block()?.0))
            }
            "local" | "int" => Ok(StmtKind::Local(self.declarations("local variable")?)),
            "shared" => Ok(StmtKind::Shared(self.declarations("shared variable")?)),
            word if is_reserved(word) && !["self", "true", "false", "choose"].contains(&word) => {
                self.keyword(word)
            }
            _ => {
                let kind = self.simple()?;
                if let StmtKind::Call(call) = &kind
                    && self.is("{")
                {
                    return Err(self.mistyped_keyword(call));
                }
                self.need(";", SEMICOLON)?;
                Ok(kind)
            }
        }
    }

    /// `whlie (x) { ... }` looks like a call.
    fn mistyped_keyword(&mut self, call: &Expr) -> super::Failed {
        let ExprKind::Call(name, _) = &call.kind else {
            return super::Failed;
        };
        let near = crate::pal::suggest::nearest(&name.text, ["if", "while", "for"]);
        let help = near.map_or_else(
            || "a block cannot follow a call; end the call with `;`".to_owned(),
            |near| format!("did you mean `{near}`?"),
        );
        let error = Diagnostic::error(name.span, format!("unknown statement `{}`", name.text))
            .label("followed by a block")
            .help(help);
        self.error(error)
    }

    /// Statements of one keyword and perhaps an operand.
    fn keyword(&mut self, word: &str) -> Parse<StmtKind> {
        let start = self.position();
        self.advance();
        let kind = match word {
            "break" => StmtKind::Break,
            "continue" => StmtKind::Continue,
            "skip" => StmtKind::Skip,
            "goto" => StmtKind::Goto(self.name("a label")?),
            "assume" => StmtKind::Assume(self.condition()?),
            "assert" => StmtKind::Assert(self.condition()?),
            "fence" => StmtKind::Fence(self.fence_kind()?),
            "return" if self.is(";") => StmtKind::Return(None),
            "return" => StmtKind::Return(Some(self.expr()?)),
            _ => {
                self.cursor_mut().seek(start);
                let help = format!("`{word}` cannot stand here");
                return Err(self.expected("a statement", &help));
            }
        };
        self.need(";", SEMICOLON)?;
        Ok(kind)
    }

    /// Nothing, or `(read)`.
    fn atomic_kind(&mut self) -> Parse<AtomicKind> {
        if !self.eat("(") {
            return Ok(AtomicKind::Block);
        }
        if self.word() != "read" {
            return Err(self.expected("`read`", "write `atomic { ... }` or `atomic(read) { ... }`"));
        }
        self.advance();
        self.need(")", "close with `)`")?;
        Ok(AtomicKind::Read)
    }

    fn fence_kind(&mut self) -> Parse<FenceKind> {
        if self.eat("?") {
            return Ok(FenceKind::Candidate);
        }
        if !self.eat("(") {
            return Ok(FenceKind::Full);
        }
        let kind = match self.word() {
            "ss" => {
                self.advance();
                FenceKind::StoreStore
            }
            "" if self.is(")") => FenceKind::Full,
            word => {
                let order = Order::named(word).filter(|order| *order != Order::Relaxed);
                let Some(order) = order else {
                    let help = "the fences are `fence`, `fence(ss)`, `fence?`, and those of C11: \
                                `fence(acquire)`, `fence(release)`, `fence(acq_rel)` and \
                                `fence(seq_cst)`";
                    return Err(self.expected("`ss` or a memory order", help));
                };
                self.advance();
                FenceKind::Ordered(order)
            }
        };
        self.need(")", "close the fence with `)`")?;
        Ok(kind)
    }

    /// A condition in parentheses, as `if` and `while` want it.
    fn in_parentheses(&mut self) -> Parse<Expr> {
        self.need("(", "put the condition in parentheses")?;
        let cond = self.condition()?;
        self.need(")", "close the condition with `)`")?;
        Ok(cond)
    }

    /// `if`, with the arms of `else if` in one list so that a long chain is not deep.
    fn if_else(&mut self) -> Parse<StmtKind> {
        let mut arms = Vec::new();
        loop {
            self.advance();
            let cond = self.in_parentheses()?;
            arms.push((cond, self.stmt()?));
            if !self.eat_word("else") {
                return Ok(StmtKind::If {
                    arms,
                    otherwise: None,
                });
            }
            if !self.is_word("if") {
                let otherwise = Some(Box::new(self.stmt()?));
                return Ok(StmtKind::If { arms, otherwise });
            }
        }
    }

    fn do_while(&mut self) -> Parse<StmtKind> {
        self.advance();
        let body = Box::new(self.stmt()?);
        if !self.eat_word("while") {
            return Err(self.expected("`while`", "write `do { ... } while (condition);`"));
        }
        let cond = self.in_parentheses()?;
        self.need(";", SEMICOLON)?;
        Ok(StmtKind::DoWhile { body, cond })
    }

    fn for_loop(&mut self) -> Parse<StmtKind> {
        const FORM: &str = "write `for (i = 0; i < 3; i++) { ... }`";
        self.advance();
        self.need("(", FORM)?;
        let start = self.span();
        let init = if self.eat(";") {
            None
        } else if ["local", "int"].contains(&self.word()) {
            Some(StmtKind::Local(self.declarations("local variable")?))
        } else {
            let init = self.simple()?;
            self.need(";", FORM)?;
            Some(init)
        };
        let init = init.map(|kind| self.unlabelled(kind, start));
        let cond = if self.is(";") {
            None
        } else {
            Some(self.condition()?)
        };
        self.need(";", FORM)?;
        let start = self.span();
        let update = if self.is(")") {
            None
        } else {
            let kind = self.simple()?;
            Some(self.unlabelled(kind, start))
        };
        self.need(")", FORM)?;
        let body = Box::new(self.stmt()?);
        Ok(StmtKind::For {
            init,
            cond,
            update,
            body,
        })
    }

    fn unlabelled(&self, kind: StmtKind, start: Span) -> Box<Stmt> {
        Box::new(Stmt {
            labels: Vec::new(),
            kind,
            span: start.to(self.last_span()),
        })
    }

    fn choose_block(&mut self) -> Parse<StmtKind> {
        self.advance();
        let mut branches = vec![self.block()?.0];
        while self.is_word("or") && self.is_at(1, "{") {
            self.advance();
            branches.push(self.block()?.0);
        }
        Ok(StmtKind::Choose(branches))
    }

    /// Assignments, steps and calls, without the semicolon.
    fn simple(&mut self) -> Parse<StmtKind> {
        if self.is("++") || self.is("--") {
            return self.prefix_step();
        }
        if self.is_at(1, "(") {
            match self.word() {
                "put" => return self.put(),
                "flush" => return self.flush(false),
                "flush_local" => return self.flush(true),
                word if is_remote_atomic(word) => return self.remote_atomic(None),
                "lock" => return Ok(StmtKind::Lock(self.lock_operand()?)),
                "unlock" => return Ok(StmtKind::Unlock(self.lock_operand()?)),
                _ => {}
            }
        }
        let start = self.span();
        let target = self.place_call_or_thread()?;
        let place = match target.kind {
            ExprKind::Place(place) => place,
            ExprKind::Call(..) => return Ok(StmtKind::Call(target)),
            _ => {
                let error = Diagnostic::error(target.span, "threads are named in properties only")
                    .label("not a variable of this thread")
                    .help("share the value through a `shared` variable");
                return Err(self.error(error));
            }
        };
        self.after_place(place, start)
    }

    fn after_place(&mut self, place: Place, start: Span) -> Parse<StmtKind> {
        let Tok::Sym(symbol) = self.peek().kind else {
            return Err(self.not_a_statement(&place));
        };
        match symbol {
            "=" => {
                self.advance();
                if self.is_word("get") && self.is_at(1, "(") {
                    return self.get(place);
                }
                if is_remote_atomic(self.word()) && self.is_at(1, "(") {
                    return self.remote_atomic(Some(place));
                }
                let value = self.expr()?;
                if self.is("=") {
                    let help = "assign one variable after the other";
                    return Err(self.expected("`;`", help));
                }
                Ok(StmtKind::Assign { place, value })
            }
            "+=" | "-=" => {
                let op = if symbol == "+=" {
                    BinOp::Add
                } else {
                    BinOp::Sub
                };
                self.advance();
                let value = self.expr()?;
                Ok(StmtKind::Update { place, op, value })
            }
            "++" | "--" => {
                self.advance();
                Ok(self.by_one(place, symbol, start))
            }
            _ => Err(self.not_a_statement(&place)),
        }
    }

    fn not_a_statement(&mut self, place: &Place) -> super::Failed {
        let word = &place.name.text;
        let near = crate::pal::suggest::nearest(word, RESERVED.iter().copied());
        let help = match near {
            Some(near) if place.index.is_none() => format!("did you mean `{near}`?"),
            _ => format!("write `{word} = ...;` to assign, or `{word}: ...` for a label"),
        };
        self.expected("`=`", &help)
    }

    fn prefix_step(&mut self) -> Parse<StmtKind> {
        let token = self.advance();
        let place = self.place()?;
        Ok(self.by_one(place, self.slice(token.span), token.span))
    }

    fn by_one(&self, place: Place, symbol: &str, start: Span) -> StmtKind {
        let op = if symbol == "++" {
            BinOp::Add
        } else {
            BinOp::Sub
        };
        let value = Expr {
            kind: ExprKind::Int(1),
            span: start.to(self.last_span()),
            height: 1,
        };
        StmtKind::Update { place, op, value }
    }

    /// `x` or `a[e]`
    fn place(&mut self) -> Parse<Place> {
        let name = self.name("a variable")?;
        let index = self.index()?;
        let span = name.span.to(self.last_span());
        Ok(Place { name, index, span })
    }

    fn lock_operand(&mut self) -> Parse<Place> {
        self.advance();
        self.need("(", "write `lock(m);`")?;
        let place = self.place()?;
        self.need(")", "write `lock(m);`")?;
        Ok(place)
    }

    fn process(&mut self) -> Parse<Process> {
        let name = self.name("a process")?;
        let copy = self.index()?.map(|index| *index);
        let span = name.span.to(self.last_span());
        Ok(Process { name, copy, span })
    }

    fn put(&mut self) -> Parse<StmtKind> {
        const FORM: &str = "write `put(Y, p, X);`: X of this process goes to Y of process p";
        self.advance();
        self.need("(", FORM)?;
        let remote = self.place()?;
        self.need(",", FORM)?;
        let process = self.process()?;
        self.need(",", FORM)?;
        let local = self.place()?;
        self.need(")", FORM)?;
        Ok(StmtKind::Put {
            remote,
            process,
            local,
        })
    }

    fn get(&mut self, local: Place) -> Parse<StmtKind> {
        const FORM: &str = "write `X = get(Y, p);`: Y of process p goes to X of this process";
        self.advance();
        self.need("(", FORM)?;
        let remote = self.place()?;
        self.need(",", FORM)?;
        let process = self.process()?;
        self.need(")", FORM)?;
        if !self.is(";") {
            return Err(self.expected("`;`", FORM));
        }
        Ok(StmtKind::Get {
            local,
            remote,
            process,
        })
    }

    fn flush(&mut self, is_local: bool) -> Parse<StmtKind> {
        const FORM: &str = "write `flush(p);` or `flush(all);`, or the same with `flush_local`";
        self.advance();
        self.need("(", FORM)?;
        let target = if self.is_word("all") && self.is_at(1, ")") {
            self.advance();
            None
        } else {
            Some(self.process()?)
        };
        self.need(")", FORM)?;
        Ok(StmtKind::Flush(target, is_local))
    }

    /// `R = compare_and_swap(Y, p, old, new)`, `R = fetch_and_op(Y, p, v, op)` or
    /// `accumulate(Y, p, v, op)`.
    fn remote_atomic(&mut self, result: Option<Place>) -> Parse<StmtKind> {
        let word = self.word().to_owned();
        let form = match (word.as_str(), &result) {
            ("compare_and_swap", _) => "write `R = compare_and_swap(Y, p, old, new);`",
            ("fetch_and_op", _) => "write `R = fetch_and_op(Y, p, value, sum);`",
            (_, None) => "write `accumulate(Y, p, value, sum);`",
            (_, Some(_)) => {
                "`accumulate` has no result; write `R = fetch_and_op(Y, p, value, sum);`"
            }
        };
        if word == "accumulate" && result.is_some() {
            return Err(self.expected("a value", form));
        }
        if word != "accumulate" && result.is_none() {
            return Err(self.expected("`R = `", form));
        }
        self.advance();
        self.need("(", form)?;
        let remote = self.place()?;
        self.need(",", form)?;
        let process = self.process()?;
        self.need(",", form)?;
        let first = self.expr()?;
        let change = if word == "compare_and_swap" {
            self.need(",", form)?;
            RemoteChange::CompareSwap(first, self.expr()?)
        } else if self.eat(",") {
            RemoteChange::Op(self.remote_op()?, first)
        } else {
            RemoteChange::Op(RemoteOp::Sum, first)
        };
        self.need(")", form)?;
        Ok(StmtKind::RemoteAtomic(Box::new(RemoteAtomic {
            result,
            remote,
            process,
            change,
        })))
    }

    fn remote_op(&mut self) -> Parse<RemoteOp> {
        let word = self.word();
        if let Some(op) = RemoteOp::ALL.into_iter().find(|op| op.name() == word) {
            self.advance();
            return Ok(op);
        }
        let names: Vec<&str> = RemoteOp::ALL.iter().map(|op| op.name()).collect();
        let help = format!("the operations are {}", names.join(", "));
        Err(self.expected("an operation", &help))
    }
}

/// Whether the word is a remote atomic operation.
fn is_remote_atomic(word: &str) -> bool {
    ["compare_and_swap", "fetch_and_op", "accumulate"].contains(&word)
}
