//! The *initial state*: `{ int x = 1; uint8_t t[2] = {1, 2}; 0:rax = x; int *p = &x; }`.
//! What is not named starts as 0. A location's name as a value is its address.

use palisade_program::Span;
use palisade_syntax::Parser as _;

use super::Failure;
use super::lexer::{Reader, Tok, Token};
use super::ty::Ty;
use crate::diagnostic::Diagnostic;

/// A place that the initial state or the condition names.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum LocRef {
    /// `0:EAX`
    Reg {
        /// The processor's number.
        proc: u32,
        /// The register as written, without `%`.
        name: String,
    },
    /// `x`, `[x]`, `t[1]`
    Global {
        /// The location.
        name: String,
        /// The element.
        index: Option<u32>,
    },
}

/// A value as written.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Literal {
    /// A number.
    Number(i128),
    /// The address of a location, or of an element.
    Address(String, u32),
}

/// One declaration of the initial state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Item {
    /// What is declared.
    pub(super) loc: LocRef,
    /// Its type, if one was written; stars not counted.
    pub(super) ty: Option<Ty>,
    /// Whether it is a pointer.
    pub(super) pointer: bool,
    /// The number of elements, for arrays.
    pub(super) len: Option<u32>,
    /// The values: none, one, or as many as elements.
    pub(super) values: Vec<Literal>,
    /// Where it stands.
    pub(super) span: Span,
}

/// The longest array.
pub(super) const MAX_LEN: i128 = 1024;

/// Parses the initial state.
pub(super) fn parse(tokens: &[Token]) -> Result<Vec<Item>, Failure> {
    let mut cursor = Reader::new(tokens);
    let mut items = Vec::new();
    loop {
        while cursor.eat(";") {}
        if *cursor.tok() == Tok::End {
            return Ok(items);
        }
        items.push(item(&mut cursor)?);
        if *cursor.tok() != Tok::End {
            cursor.expect(";")?;
        }
    }
}

fn item(cursor: &mut Reader<'_>) -> Result<Item, Failure> {
    let start = cursor.span();
    let mut words = Vec::new();
    while is_type_word(cursor) {
        words.push(cursor.name("a type")?.0);
    }
    let words_end = cursor.last_span();
    let mut stars = 0;
    while cursor.eat("*") {
        stars += 1;
        while cursor.eat_name("const") || cursor.eat_name("volatile") {}
    }
    let ty = if words.is_empty() {
        None
    } else {
        Some(type_of(&words, start.to(words_end))?)
    };
    let (loc, len) = declarator(cursor)?;
    let values = if cursor.eat("=") {
        values(cursor)?
    } else {
        Vec::new()
    };
    let span = start.to(cursor.last_span());
    check_count(len, &values, span)?;
    Ok(Item {
        loc,
        ty,
        pointer: stars > 0,
        len,
        values,
        span,
    })
}

fn type_of(words: &[&str], span: Span) -> Result<Ty, Failure> {
    Ty::named(words).ok_or_else(|| {
        Diagnostic::error(span, format!("unknown type `{}`", words.join(" ")))
            .help("known are int, long, char, short, intN_t, uintN_t and the atomic types")
            .into()
    })
}

/// A name is a type if a declarator follows: another name, a star, `0:`, `[x]`.
fn is_type_word(cursor: &Reader<'_>) -> bool {
    let Tok::Name(name) = cursor.tok() else {
        return false;
    };
    match cursor.tok_at(1) {
        Tok::Name(_) | Tok::Number(_) | Tok::Punct("*") => true,
        Tok::Punct("[") => matches!(cursor.tok_at(2), Tok::Name(_)),
        Tok::Punct(_) | Tok::Text(_) | Tok::End => {
            // A lone type name declares nothing.
            name == "_Atomic"
        }
    }
}

fn declarator(cursor: &mut Reader<'_>) -> Result<(LocRef, Option<u32>), Failure> {
    let loc = location(cursor)?;
    match loc {
        LocRef::Global {
            name,
            index: Some(n),
        } => Ok((LocRef::Global { name, index: None }, Some(n))),
        LocRef::Global { .. } | LocRef::Reg { .. } => Ok((loc, None)),
    }
}

fn check_count(len: Option<u32>, values: &[Literal], span: Span) -> Result<(), Failure> {
    let wanted = len.unwrap_or(1) as usize;
    if values.is_empty() || values.len() == wanted {
        return Ok(());
    }
    Err(
        Diagnostic::error(span, format!("{} values for {wanted} cells", values.len()))
            .help("give as many values as the array has elements, or none for all 0")
            .into(),
    )
}

/// A location: `0:EAX`, `P0:EAX`, `0:%r`, `x`, `[x]`, `t[1]`.
pub(super) fn location(cursor: &mut Reader<'_>) -> Result<LocRef, Failure> {
    if let Some(proc) = processor(cursor) {
        cursor.advance();
        cursor.expect(":")?;
        cursor.eat("%");
        let (name, _) = cursor.name("a register")?;
        return Ok(LocRef::Reg {
            proc,
            name: name.to_owned(),
        });
    }
    if cursor.eat("[") {
        let (name, _) = cursor.name("a location")?;
        let name = name.to_owned();
        let index = element(cursor)?;
        cursor.expect("]")?;
        return Ok(LocRef::Global { name, index });
    }
    let (name, _) = cursor.name("a location")?;
    let name = name.to_owned();
    let index = element(cursor)?;
    Ok(LocRef::Global { name, index })
}

/// The number of the processor if the next tokens are `0:` or `P0:`.
fn processor(cursor: &Reader<'_>) -> Option<u32> {
    if *cursor.tok_at(1) != Tok::Punct(":") {
        return None;
    }
    match cursor.tok() {
        Tok::Number(n) => u32::try_from(*n).ok(),
        Tok::Name(name) => proc_number(name),
        Tok::Punct(_) | Tok::Text(_) | Tok::End => None,
    }
}

/// 3 for `P3`.
pub(super) fn proc_number(name: &str) -> Option<u32> {
    let digits = name.strip_prefix('P')?;
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    digits.parse().ok()
}

fn element(cursor: &mut Reader<'_>) -> Result<Option<u32>, Failure> {
    if !cursor.is("[") {
        return Ok(None);
    }
    cursor.advance();
    let span = cursor.span();
    let value = cursor.signed()?;
    cursor.expect("]")?;
    if !(0..=MAX_LEN).contains(&value) {
        return Err(
            Diagnostic::error(span, format!("array size or index {value} out of range"))
                .help(format!("between 0 and {MAX_LEN}"))
                .into(),
        );
    }
    Ok(Some(value as u32))
}

fn values(cursor: &mut Reader<'_>) -> Result<Vec<Literal>, Failure> {
    if !cursor.eat("{") {
        return Ok(vec![literal(cursor)?]);
    }
    let list = list(cursor)?;
    cursor.expect("}")?;
    Ok(list)
}

/// Values with commas between.
pub(super) fn list(cursor: &mut Reader<'_>) -> Result<Vec<Literal>, Failure> {
    let mut list = vec![literal(cursor)?];
    while cursor.eat(",") {
        list.push(literal(cursor)?);
    }
    Ok(list)
}

/// A value: a number, or a location's name for its address.
pub(super) fn literal(cursor: &mut Reader<'_>) -> Result<Literal, Failure> {
    if cursor.eat_name("ATOMIC_INIT") {
        cursor.expect("(")?;
        let value = literal(cursor)?;
        cursor.expect(")")?;
        return Ok(value);
    }
    if matches!(cursor.tok(), Tok::Number(_)) || cursor.is("-") || cursor.is("+") {
        return Ok(Literal::Number(cursor.signed()?));
    }
    cursor.eat("&");
    let (name, _) = cursor.name("a value")?;
    let name = name.to_owned();
    let index = element(cursor)?;
    Ok(Literal::Address(name, index.unwrap_or(0)))
}
