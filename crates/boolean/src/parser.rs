//! From text to tree. Errors are located and say a remedy; after one the parser
//! goes on behind the next semicolon, so that one run finds many. Names are not
//! looked up here but in [`super::resolve`].

use std::collections::BTreeSet;

use palisade_program::Span;
use palisade_syntax::{Cursor, Parser as Syntax};

use crate::BpError;
use crate::ast::{
    At, BooleanProgram, Copies, Expr, ExprKind, Label, Op, Passive, Property, Statement,
    StatementKind, Target, Thread, Value, Variable,
};
use crate::lexer::{Token, Word, lex};

/// Words that are no names.
const KEYWORDS: [&str; 12] = [
    "shared",
    "local",
    "thread",
    "never",
    "initially",
    "goto",
    "assume",
    "assert",
    "skip",
    "choose",
    "constrain",
    "bool",
];

/// Reads a Boolean program; on failure all errors that were found.
pub fn parse(text: &str) -> Result<BooleanProgram, Vec<BpError>> {
    let (tokens, errors) = lex(text);
    let mut parser = Parser {
        cursor: Cursor::new(&tokens),
        errors,
        declared: BTreeSet::new(),
    };
    let program = parser.program();
    if parser.errors.is_empty() {
        Ok(program)
    } else {
        parser.errors.sort_by_key(|e| e.span);
        Err(parser.errors)
    }
}

/// Something was wrong and has been reported.
struct Reported;

type Parse<T> = Result<T, Reported>;

struct Parser<'t> {
    cursor: Cursor<'t, Token>,
    errors: Vec<BpError>,
    /// The names of variables so far.
    declared: BTreeSet<String>,
}

impl<'t> Syntax<'t> for Parser<'t> {
    type Token = Token;
    type Error = Reported;
    const MAX_DEPTH: u32 = 200;
    const MAX_CHAIN: u32 = 20_000;

    fn cursor(&self) -> &Cursor<'t, Token> {
        &self.cursor
    }

    fn cursor_mut(&mut self) -> &mut Cursor<'t, Token> {
        &mut self.cursor
    }

    fn too_deep(&mut self) -> Reported {
        let message = "this expression is nested too deeply".to_owned();
        self.report(message, "split it with further variables")
    }

    fn too_long(&mut self) -> Reported {
        let message = "too many operators in one expression".to_owned();
        self.report(message, "split it with further variables")
    }

    fn expected(&mut self, what: &str, help: &str) -> Reported {
        let found = match &self.peek().word {
            Word::Name(name) => format!("`{name}`"),
            Word::Sign(sign) => format!("`{sign}`"),
            Word::End => "the end of the file".to_owned(),
        };
        self.report(format!("expected {what}, found {found}"), help)
    }
}

impl Parser<'_> {
    /// Reports an error at the next word.
    fn report(&mut self, message: String, help: &str) -> Reported {
        self.errors.push(BpError::new(self.span(), message, help));
        Reported
    }

    fn is_keyword(&mut self, keyword: &str) -> bool {
        matches!(&self.peek().word, Word::Name(n) if n == keyword)
    }

    fn eat_keyword(&mut self, keyword: &str) -> bool {
        let found = self.is_keyword(keyword);
        if found {
            self.advance();
        }
        found
    }

    /// Skips to behind the next semicolon, or to the end of the block.
    fn recover(&mut self) {
        self.skip_to(&[";", "}"]);
        self.eat(";");
    }

    fn semicolon(&mut self) -> Parse<Option<String>> {
        self.need(";", "every declaration and statement ends with a semicolon")?;
        Ok(self.cursor.last().note.clone())
    }

    fn name(&mut self, what: &str) -> Parse<(String, Span)> {
        let token = self.peek().clone();
        match token.word {
            Word::Name(name) if !name.starts_with(|c: char| c.is_ascii_digit()) => {
                if KEYWORDS.contains(&name.as_str()) {
                    return Err(self.expected(what, "this word is a keyword; choose another name"));
                }
                self.advance();
                Ok((name, token.span))
            }
            Word::Name(_) | Word::Sign(_) | Word::End => {
                Err(self.expected(what, "names are made of letters, digits and `_`, as in C"))
            }
        }
    }

    fn program(&mut self) -> BooleanProgram {
        let mut program = BooleanProgram::default();
        let mut outside = self.empty_thread(None, Copies::Any);
        while !self.at_end() {
            let before = self.cursor.position();
            if self.item(&mut program, &mut outside).is_err() {
                self.recover();
            }
            if self.cursor.position() == before {
                // A stray closing brace.
                let _reported = self.expected("a declaration or statement", "remove it");
                self.advance();
            }
        }
        self.outside(&mut program, outside);
        program
    }

    /// Code outside any thread is a thread without a name.
    fn outside(&mut self, program: &mut BooleanProgram, outside: Thread) {
        let statements = outside.body.iter().map(|s| s.at.0);
        let locals = outside.locals.iter().map(|v| v.at.0);
        let first = statements.chain(locals).min();
        match first {
            None if program.threads.is_empty() => program.threads.push(outside),
            None => {}
            Some(span) if !program.threads.is_empty() => {
                let message = "code both inside and outside of `thread` sections".to_owned();
                let help = "put all of it into `thread name { ... }` sections, or none";
                self.errors.push(BpError::new(span, message, help));
            }
            Some(_) => program.threads.push(outside),
        }
    }

    fn empty_thread(&mut self, name: Option<String>, copies: Copies) -> Thread {
        Thread {
            name,
            copies,
            locals: Vec::new(),
            body: Vec::new(),
            end: Vec::new(),
            at: At(self.span()),
        }
    }

    fn item(&mut self, program: &mut BooleanProgram, outside: &mut Thread) -> Parse<()> {
        if self.eat_keyword("shared") {
            self.variables(&mut program.shared)
        } else if self.eat_keyword("never") {
            let property = self.property()?;
            program.never.push(property);
            Ok(())
        } else if self.eat_keyword("initially") {
            let property = self.property()?;
            program.initially.push(property);
            Ok(())
        } else if self.eat_keyword("thread") {
            let thread = self.thread()?;
            program.threads.push(thread);
            Ok(())
        } else {
            self.code(outside)
        }
    }

    fn property(&mut self) -> Parse<Property> {
        let cond = self.expr()?;
        let at = cond.at;
        let note = self.semicolon()?;
        Ok(Property { cond, note, at })
    }

    /// What follows `shared` or `local`: declarations up to the first thing that is none.
    fn variables(&mut self, list: &mut Vec<Variable>) -> Parse<()> {
        self.some_variables(list)?;
        while self.is_further_variable() {
            self.some_variables(list)?;
        }
        Ok(())
    }

    /// Whether `name = lit;` comes next with a name that is new: another declaration of the list
    /// [Donaldson et al., CAV 2011, Fig. 1], where the keyword stands once. As a statement it would
    /// assign to a variable that does not exist.
    fn is_further_variable(&mut self) -> bool {
        let is_sign =
            |word: &Word, signs: &[&str]| matches!(word, Word::Sign(s) if signs.contains(s));
        let is_value = match &self.cursor.peek_at(2).word {
            Word::Name(digit) => digit == "0" || digit == "1",
            Word::Sign(sign) => *sign == "*",
            Word::End => false,
        };
        let ends = is_value && is_sign(&self.cursor.peek_at(3).word, &[";"]);
        let assigns = is_sign(&self.cursor.peek_at(1).word, &["=", ":="]);
        match &self.peek().word {
            Word::Name(name) => {
                let is_name = !name.starts_with(|c: char| c.is_ascii_digit());
                let is_new = is_name && !KEYWORDS.contains(&name.as_str());
                is_new && assigns && ends && !self.declared.contains(name)
            }
            Word::Sign(_) | Word::End => false,
        }
    }

    fn some_variables(&mut self, list: &mut Vec<Variable>) -> Parse<()> {
        self.eat_keyword("bool");
        let from = list.len();
        loop {
            let (name, span) = self.name("the name of a variable")?;
            let init = if self.eat("=") || self.eat(":=") {
                self.value()?
            } else {
                return Err(self.expected("`=` and a first value", "write `= 0`, `= 1` or `= *`"));
            };
            self.declared.insert(name.clone());
            list.push(Variable {
                name,
                init,
                note: None,
                at: At(span),
            });
            if !self.eat(",") {
                break;
            }
        }
        let note = self.semicolon()?;
        if let [only] = &mut list[from..] {
            only.note = note;
        }
        Ok(())
    }

    fn value(&mut self) -> Parse<Value> {
        match self.maybe_value() {
            Some(value) => Ok(value),
            None => Err(self.expected("`0`, `1` or `*`", "first values are literals")),
        }
    }

    fn maybe_value(&mut self) -> Option<Value> {
        let value = match &self.peek().word {
            Word::Name(n) if n == "0" => Value::False,
            Word::Name(n) if n == "1" => Value::True,
            Word::Sign("*") => Value::Any,
            Word::Name(_) | Word::Sign(_) | Word::End => return None,
        };
        self.advance();
        Some(value)
    }

    fn thread(&mut self) -> Parse<Thread> {
        let (name, span) = self.name("the name of the thread")?;
        let copies = if self.eat("[") {
            let copies = self.copies()?;
            self.need("]", "write `thread name[3]` or `thread name[*]`")?;
            copies
        } else {
            Copies::One
        };
        let mut thread = self.empty_thread(Some(name), copies);
        thread.at = At(span);
        self.need("{", "the code of a thread stands in braces")?;
        while !self.is("}") {
            if self.at_end() {
                return Err(self.expected("`}`", "close the thread that begins here with `}`"));
            }
            let before = self.cursor.position();
            if self.code(&mut thread).is_err() {
                self.recover();
            } else if self.cursor.position() == before {
                let help = "`never` and `initially` stand outside of threads";
                return Err(self.expected("a statement", help));
            }
        }
        self.advance();
        Ok(thread)
    }

    fn copies(&mut self) -> Parse<Copies> {
        if self.eat("*") {
            return Ok(Copies::Any);
        }
        let number = match &self.peek().word {
            Word::Name(digits) => digits.parse().ok().filter(|n| *n > 0),
            Word::Sign(_) | Word::End => None,
        };
        match number {
            Some(n) => {
                self.advance();
                Ok(Copies::Fixed(n))
            }
            None => Err(self.expected("a number of threads or `*`", "write `[3]` or `[*]`")),
        }
    }

    /// A declaration of locals or a statement.
    fn code(&mut self, thread: &mut Thread) -> Parse<()> {
        if self.eat_keyword("local") {
            return self.variables(&mut thread.locals);
        }
        let mut labels = std::mem::take(&mut thread.end);
        while matches!(self.peek().word, Word::Name(_))
            && self.cursor.peek_at(1).word == Word::Sign(":")
        {
            let label = self.label()?;
            labels.push(label);
            self.advance();
        }
        let ends = self.is("}") || self.at_end();
        if ends || self.is_keyword("never") || self.is_keyword("initially") {
            thread.end = labels;
            return Ok(());
        }
        let span = self.span();
        let kind = self.statement()?;
        let end = self.span();
        let note = self.semicolon()?;
        thread.body.push(Statement {
            labels,
            kind,
            note,
            at: At(Span::new(span.start as usize, end.start as usize)),
        });
        Ok(())
    }

    fn label(&mut self) -> Parse<Label> {
        let token = self.peek().clone();
        match token.word {
            Word::Name(name) if !KEYWORDS.contains(&name.as_str()) => {
                self.advance();
                Ok(Label {
                    name,
                    at: At(token.span),
                })
            }
            Word::Name(_) | Word::Sign(_) | Word::End => {
                Err(self.expected("a label", "labels are names or numbers"))
            }
        }
    }

    fn statement(&mut self) -> Parse<StatementKind> {
        if self.eat_keyword("skip") {
            Ok(StatementKind::Skip)
        } else if self.eat_keyword("assume") {
            Ok(StatementKind::Assume(self.expr()?))
        } else if self.eat_keyword("assert") {
            Ok(StatementKind::Assert(self.expr()?))
        } else if self.eat_keyword("goto") {
            let mut labels = vec![self.label()?];
            while self.eat(",") {
                labels.push(self.label()?);
            }
            Ok(StatementKind::Goto(labels))
        } else {
            self.assignment()
        }
    }

    fn assignment(&mut self) -> Parse<StatementKind> {
        let mut targets = vec![self.target()?];
        while self.eat(",") {
            targets.push(self.target()?);
        }
        if !self.eat(":=") {
            self.need("=", "assignments look like `a, b = e, f;`")?;
        }
        let mut values = vec![self.expr()?];
        while self.eat(",") {
            values.push(self.expr()?);
        }
        let constrain = if self.eat_keyword("constrain") {
            Some(self.expr()?)
        } else {
            None
        };
        Ok(StatementKind::Assign {
            targets,
            values,
            constrain,
        })
    }

    fn target(&mut self) -> Parse<Target> {
        if self.is("[") {
            let (passive, name, span) = self.passive()?;
            return Ok(Target {
                name,
                passive: Some(passive),
                at: At(span),
            });
        }
        let (name, span) = self.name("a statement")?;
        Ok(Target {
            name,
            passive: None,
            at: At(span),
        })
    }

    /// `[v]` or `[t.v]`.
    fn passive(&mut self) -> Parse<(Passive, String, Span)> {
        let start = self.advance().span;
        let (mut name, _) = self.name("a local variable of passive threads")?;
        let mut thread = None;
        if self.eat(".") {
            let (variable, _) = self.name("a local variable of passive threads")?;
            thread = Some(std::mem::replace(&mut name, variable));
        }
        let end = self.span();
        self.need("]", "passive variables look like `[v]` or `[thread.v]`")?;
        Ok((Passive { thread }, name, start.to(end)))
    }

    fn expr(&mut self) -> Parse<Expr> {
        self.nested(Self::conditional)
    }

    fn conditional(&mut self) -> Parse<Expr> {
        let cond = self.operators()?;
        if !self.eat("?") {
            return Ok(cond);
        }
        let then = self.operators()?;
        self.need(":", "conditional values look like `c ? a : b`")?;
        let otherwise = self.expr()?;
        let at = At(cond.at.0.to(otherwise.at.0));
        Ok(Expr {
            kind: Box::new(ExprKind::Cond(cond, then, otherwise)),
            at,
        })
    }

    fn operator(&self) -> Option<(Op, u8)> {
        let Word::Sign(sign) = self.peek().word else {
            return None;
        };
        Some(match sign {
            "=>" => (Op::Implies, 1),
            "||" | "|" => (Op::Or, 2),
            "&&" | "&" => (Op::And, 3),
            "==" => (Op::Iff, 4),
            "^" | "!=" => (Op::Xor, 5),
            _ => return None,
        })
    }

    fn operators(&mut self) -> Parse<Expr> {
        self.binary(0, Self::operator, Self::unary, |_, op, left, right| {
            let at = At(left.at.0.to(right.at.0));
            let kind = Box::new(ExprKind::Binary(op, left, right));
            Ok(Expr { kind, at })
        })
    }

    fn unary(&mut self) -> Parse<Expr> {
        let span = self.span();
        if self.eat("!") || self.eat("~") {
            let inner = self.nested(Self::unary)?;
            let at = At(span.to(inner.at.0));
            let kind = Box::new(ExprKind::Not(inner));
            return Ok(Expr { kind, at });
        }
        let kind = self.primary()?;
        let end = self.last_span();
        match kind {
            // Parentheses leave no trace.
            Primary::Inner(e) => Ok(e),
            Primary::Kind(kind) => Ok(Expr {
                kind: Box::new(kind),
                at: At(span.to(end)),
            }),
        }
    }

    fn primary(&mut self) -> Parse<Primary> {
        if self.eat("(") {
            let inner = self.expr()?;
            self.need(")", "close the parenthesis")?;
            return Ok(Primary::Inner(inner));
        }
        if let Some(value) = self.maybe_value() {
            return Ok(Primary::Kind(ExprKind::Value(value)));
        }
        if self.is("[") {
            let (passive, name, _) = self.passive()?;
            return Ok(Primary::Kind(ExprKind::Passive(passive, name)));
        }
        if self.eat("'") {
            let (name, _) = self.name("a variable")?;
            return Ok(Primary::Kind(ExprKind::Next(name)));
        }
        if self.eat_keyword("choose") {
            self.need("(", "choose looks like `choose(a, b)`")?;
            let yes = self.expr()?;
            self.need(",", "choose looks like `choose(a, b)`")?;
            let no = self.expr()?;
            self.need(")", "choose looks like `choose(a, b)`")?;
            return Ok(Primary::Kind(ExprKind::Choose(yes, no)));
        }
        let (name, _) = self.name("an expression")?;
        if self.eat("@") {
            let label = self.label()?;
            return Ok(Primary::Kind(ExprKind::Location(name, label)));
        }
        Ok(Primary::Kind(ExprKind::Name(name)))
    }
}

/// A primary expression: in parentheses, or not.
enum Primary {
    Inner(Expr),
    Kind(ExprKind),
}
