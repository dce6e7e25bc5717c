//! The *parser* of heap programs: tokens of `.pal` to the syntax tree. Declarations
//! are here, statements and expressions in their own files. After an error it goes
//! on at the next statement or declaration.

mod expr;
mod stmt;

use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};

use palisade_program::heap::Tag;
use palisade_program::{Source, Span};

use super::ast::{
    Decl, Expr, ExprKind, File, Init, Method, Name, OwnSpec, Parameter, Spec, Struct, TypeName,
};
use crate::diagnostic::Diagnostic;
use crate::pal::lexer::Lexed;
use crate::pal::parser::{Failed, Parse, Parser, Syntax};
use crate::pal::suggest;
use crate::pal::token::Token;
use palisade_syntax::Cursor;

/// Words that start a declaration.
const ITEM_WORDS: &[&str] = &[
    "spec", "struct", "circular", "shared", "const", "init", "method", "fn", "never",
];

/// Words that start a declaration and mean nothing else inside a body.
const ONLY_ITEM_WORDS: &[&str] = &[
    "spec", "struct", "circular", "shared", "const", "method", "fn", "never",
];

/// Parses the tokens of `source`; the errors are added to `errors`.
pub(super) fn parse(source: &Source, lexed: &Lexed, errors: &mut Vec<Diagnostic>) -> File {
    let mut reader = Reader(Parser::new(source, lexed), BTreeMap::new());
    let file = reader.file();
    errors.append(&mut reader.0.errors);
    file
}

/// The parser, around the place in the tokens that it shares with `.pal`, and the constants so far.
struct Reader<'a>(Parser<'a>, BTreeMap<String, ExprKind>);

impl<'a> AsMut<Parser<'a>> for Reader<'a> {
    fn as_mut(&mut self) -> &mut Parser<'a> {
        &mut self.0
    }
}

impl<'a> Deref for Reader<'a> {
    type Target = Parser<'a>;

    fn deref(&self) -> &Parser<'a> {
        &self.0
    }
}

impl<'a> DerefMut for Reader<'a> {
    fn deref_mut(&mut self) -> &mut Parser<'a> {
        &mut self.0
    }
}

impl<'a> Syntax<'a> for Reader<'a> {
    type Token = Token;
    type Error = Failed;
    const MAX_DEPTH: u32 = Parser::MAX_DEPTH;
    const MAX_CHAIN: u32 = 300;

    fn cursor(&self) -> &Cursor<'a, Token> {
        self.0.cursor()
    }

    fn cursor_mut(&mut self) -> &mut Cursor<'a, Token> {
        self.0.cursor_mut()
    }

    fn too_deep(&mut self) -> Failed {
        let error = Diagnostic::error(self.span(), "the program nests too deeply")
            .label(format!("more than {} levels", Self::MAX_DEPTH))
            .help("keep parts of it in locals");
        self.error(error)
    }

    fn too_long(&mut self) -> Failed {
        let error = Diagnostic::error(self.span(), "the expression is too long")
            .label(format!(
                "more than {} operators in a chain",
                Self::MAX_CHAIN
            ))
            .help("keep parts of it in locals");
        self.error(error)
    }

    fn expected(&mut self, what: &str, help: &str) -> Failed {
        self.0.expected(what, help)
    }

    fn need(&mut self, symbol: &str, help: &str) -> Parse<Span> {
        self.0.need(symbol, help)
    }
}

impl Reader<'_> {
    fn file(&mut self) -> File {
        let mut file = File::default();
        while !self.at_end() && !self.too_many_errors() {
            let start = self.position();
            if self.item(&mut file).is_err() {
                self.recover_item(start);
            }
        }
        file
    }

    fn recover_item(&mut self, start: usize) {
        if self.position() == start {
            self.advance();
        }
        while !self.at_end() && !ITEM_WORDS.contains(&self.word()) {
            self.advance();
        }
    }

    fn item(&mut self, file: &mut File) -> Parse<()> {
        match self.word() {
            "spec" => file.specs.push(self.spec()?),
            "struct" | "circular" => file.structs.push(self.structure()?),
            "shared" => self.shared(&mut file.shared)?,
            "local" => self.shared(&mut file.kept)?,
            "fn" => {
                let function = self.method("function")?;
                if let Some(name) = function.operation.as_ref().or(function.role.as_ref()) {
                    let error = Diagnostic::error(name.span, "a function is no operation")
                        .label("`as` and `by` belong to methods");
                    return Err(self.error(error.help("remove it")));
                }
                file.functions.push(function);
            }
            "const" => self.constant()?,
            "init" => file.inits.push(self.init()?),
            "method" => file.methods.push(self.method("method")?),
            "never" => {
                let start = self.advance().span;
                let cond = self.expr()?;
                let end = self.need(";", "end the property with `;`")?;
                file.nevers.push((cond, start.to(end)));
            }
            word => {
                let near = suggest::nearest(word, ITEM_WORDS.iter().copied());
                let help = match (near, word) {
                    (Some(near), _) => format!("did you mean `{near}`?"),
                    (None, "thread" | "process") => {
                        "a data structure has no threads of its own: any number of threads call its methods"
                            .to_owned()
                    }
                    (None, _) => "a data structure is made of `spec`, `struct`, `shared`, `local`, `const`, `init`, `fn`, `method` and `never`"
                        .to_owned(),
                };
                return Err(self.expected("a declaration", &help));
            }
        }
        Ok(())
    }

    /// `const int N = 4;`, `const N = 4;`: the value stands for the name from here on.
    fn constant(&mut self) -> Parse<()> {
        self.advance();
        if self.is_word("int") || !self.word_at(1).is_empty() {
            self.type_name()?;
        }
        let name = self.name("the constant's name")?;
        let help = "write `const N = 4;`";
        self.need("=", help)?;
        let mut value = self.expr()?;
        if let Some(number) = value.number() {
            value.kind = ExprKind::Int(number);
        }
        if !matches!(
            value.kind,
            ExprKind::Int(_) | ExprKind::Bool(_) | ExprKind::Infinity(_)
        ) {
            let error = Diagnostic::error(value.span, "not a constant")
                .label("a number, `true`, `false` or `infinity` is asked for")
                .help(help);
            return Err(self.error(error));
        }
        self.unused_name(&name)?;
        self.1.insert(name.text, value.kind);
        self.need(";", "end the declaration with `;`")?;
        Ok(())
    }

    /// A name that is no constant.
    fn unused_name(&mut self, name: &Name) -> Parse<()> {
        if self.1.contains_key(&name.text) {
            let error = Diagnostic::error(name.span, format!("`{}` is a constant", name.text))
                .label("declared before with `const`")
                .help("choose another name");
            return Err(self.error(error));
        }
        Ok(())
    }

    fn spec(&mut self) -> Parse<Spec> {
        let start = self.advance().span;
        if !self.is("{") {
            let name = self.name("a specification")?;
            self.need(";", "end the declaration with `;`")?;
            return Ok(Spec::Named(name));
        }
        self.advance();
        let mut own = OwnSpec {
            shared: Vec::new(),
            inits: Vec::new(),
            operations: Vec::new(),
            span: start,
        };
        while !self.is("}") {
            match self.word() {
                "shared" => self.shared(&mut own.shared)?,
                "init" => own.inits.push(self.init()?),
                "operation" => own.operations.push(self.method("operation")?),
                _ => {
                    return Err(self.expected(
                        "`shared`, `init`, `operation` or `}`",
                        "a specification of one's own is made of `shared` variables, `init` and `operation`s",
                    ));
                }
            }
        }
        self.advance();
        Ok(Spec::Own(own))
    }

    fn structure(&mut self) -> Parse<Struct> {
        let circular = self.eat_word("circular");
        if !self.eat_word("struct") {
            return Err(self.expected("`struct`", "write `circular struct node { ... }`"));
        }
        let name = self.name("the struct's name")?;
        self.need("{", "write `struct node { data value; node next; }`")?;
        let mut fields = Vec::new();
        while !self.is("}") {
            let ty = self.type_name()?;
            loop {
                let name = self.name("the field's name")?;
                fields.push((ty.clone(), name, self.length()?));
                if !self.eat(",") {
                    break;
                }
            }
            self.need(";", "end the field with `;`")?;
        }
        self.advance();
        self.eat(";");
        Ok(Struct {
            circular,
            name,
            fields,
        })
    }

    /// `marked node`, `data`
    fn type_name(&mut self) -> Parse<TypeName> {
        let start = self.span();
        let tag = match self.word() {
            "marked" => Some(Tag::Mark),
            "counted" => Some(Tag::Count),
            _ => None,
        };
        if tag.is_some() {
            self.advance();
        }
        // `int` is a reserved word of the language, and a type here.
        let name = if matches!(self.word(), "int") {
            let span = self.advance().span;
            let text = "int".to_owned();
            Name { text, span }
        } else {
            self.name("a type")?
        };
        let span = start.to(name.span);
        Ok(TypeName { tag, name, span })
    }

    fn shared(&mut self, into: &mut Vec<Decl>) -> Parse<()> {
        self.advance();
        self.declarations(into)
    }

    /// `node a = null, b;` from the type on.
    fn declarations(&mut self, into: &mut Vec<Decl>) -> Parse<()> {
        let ty = self.type_name()?;
        loop {
            let name = self.name("the variable's name")?;
            self.unused_name(&name)?;
            let length = self.length()?;
            let (mut value, mut values) = (None, Vec::new());
            if self.eat("=") {
                if length.is_some() && self.is("{") {
                    values = self.elements()?;
                } else {
                    value = Some(self.expr()?);
                }
            }
            into.push(Decl {
                ty: ty.clone(),
                name,
                length,
                value,
                values,
            });
            if !self.eat(",") {
                break;
            }
        }
        self.need(";", "end the declaration with `;`")?;
        Ok(())
    }

    /// `[4]` behind a name, if it is there.
    fn length(&mut self) -> Parse<Option<Expr>> {
        if !self.eat("[") {
            return Ok(None);
        }
        let length = self.expr()?;
        self.need("]", "close the length with `]`")?;
        Ok(Some(length))
    }

    /// `{1, 2}`
    fn elements(&mut self) -> Parse<Vec<Expr>> {
        self.advance();
        let mut all = Vec::new();
        while !self.is("}") {
            all.push(self.expr()?);
            if !self.eat(",") {
                break;
            }
        }
        self.need("}", "close the values with `}`")?;
        Ok(all)
    }

    fn init(&mut self) -> Parse<Init> {
        let span = self.advance().span;
        let (body, _) = self.block()?;
        Ok(Init { body, span })
    }

    fn method(&mut self, what: &str) -> Parse<Method> {
        let start = self.advance().span;
        let name = self.name(&format!("the {what}'s name"))?;
        self.need("(", "write the parameters in parentheses")?;
        let mut parameters = Vec::new();
        while !self.is(")") {
            let reference = self.span();
            let is_reference = self.eat_word("ref");
            if is_reference && what != "function" {
                let error = Diagnostic::error(reference, format!("a {what} has no references"))
                    .label("callers have no locals that it could change");
                return Err(self.error(error.help("use `ref` in functions")));
            }
            let ty = self.type_name()?;
            let name = self.name("the parameter's name")?;
            self.unused_name(&name)?;
            parameters.push(Parameter {
                ty,
                name,
                is_reference,
            });
            if !self.eat(",") {
                break;
            }
        }
        self.need(")", "close the parameters with `)`")?;
        let returns = if self.eat_word("returns") {
            Some(self.type_name()?)
        } else {
            None
        };
        let operation = if self.eat_word("as") {
            Some(self.name("an operation of the specification")?)
        } else {
            None
        };
        let role = if self.eat_word("by") {
            Some(self.name("a role")?)
        } else {
            None
        };
        let head = start.to(self.last_span());
        let (body, braces) = self.block()?;
        Ok(Method {
            name,
            parameters,
            returns,
            operation,
            role,
            body,
            end: Span {
                start: braces.end.saturating_sub(1),
                end: braces.end,
            },
            span: head,
        })
    }

    /// Reports something that the language has elsewhere, but not here.
    fn not_here(&mut self, what: &str, help: &str) -> Failed {
        let message = format!("{what} cannot stand in a data structure");
        let error = Diagnostic::error(self.span(), message)
            .label("unsupported here")
            .help(help);
        self.error(error)
    }
}
