//! The certificate as text. Lines, in this order:
//!
//! ```text
//! palisade certificate of a set 1
//! fingerprint 0f3a...
//! program plain                   or locks: spin locks are locks
//! mark 0 1                        a bit and its value in nodes that are not in the set, or `none`
//! kind < listed 0                 nodes that others can reach: key class, or `left`, bits
//! link < =                        where links of such nodes lead: key classes, or `null`
//! view 0 12 = in i-d 0 0 | =,_,1,0,t | ^l:0:0:? <l:1:0:2 =o:0:0:*0
//! end
//! ```
//!
//! Key classes are `^` (the root), `u` (never written), `[` (-infinity), `<`, `=`, `>`, `]` (infinity).
//! A view has the number of its method and location, the class of its argument, whether the key is in, whether it was in (`i`), was out (`o`),
//! was changed by the call (`d`), shared bits, shared locks that are held; its locals: `0` null, `1` the first node, `t`, `f`, a key class, `e` empty,
//! `_` unknown; its nodes, the root first: key class, standing (`o` own, `l` listed, `g` gone, `b` gone before the root was read), bits, locks held, link:
//! `0` null, a node, `*2` past marked nodes, `?` unknown. `#` begins a comment.

use std::fmt::{self, Write};

use super::super::view::{History, Key, Link, Node, Slot, Standing, View};
use super::{Certificate, Facts};

const HEAD: &str = "palisade certificate of a set 1";

/// What is wrong with a certificate's text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Malformed {
    /// In which line.
    pub line: usize,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} is not one of a certificate of a set", self.line)
    }
}

/// Whether a text is meant to be one.
pub fn is_certificate(text: &str) -> bool {
    meant(text).next().is_some_and(|(_, line)| line == HEAD)
}

/// Lines that say something, with their numbers.
fn meant(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().enumerate();
    let plain = lines.map(|(n, line)| (n + 1, line.split('#').next().unwrap_or("").trim()));
    plain.filter(|(_, line)| !line.is_empty())
}

const KEYS: [(Key, char); 7] = [
    (Key::Root, '^'),
    (Key::Unset, 'u'),
    (Key::Least, '['),
    (Key::Less, '<'),
    (Key::Equal, '='),
    (Key::Greater, '>'),
    (Key::Greatest, ']'),
];

const STANDINGS: [(Standing, char); 4] = [
    (Standing::Own, 'o'),
    (Standing::Listed, 'l'),
    (Standing::Left, 'g'),
    (Standing::LeftBefore, 'b'),
];

fn letter<T: PartialEq>(table: &[(T, char)], value: &T) -> char {
    let found = table.iter().find(|(known, _)| known == value);
    found.map_or('!', |(_, letter)| *letter)
}

fn meaning<T: Copy>(table: &[(T, char)], word: &str) -> Option<T> {
    let mut letters = word.chars();
    let (first, None) = (letters.next()?, letters.next()) else {
        return None;
    };
    let found = table.iter().find(|(_, letter)| *letter == first);
    found.map(|(value, _)| *value)
}

impl fmt::Display for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{HEAD}")?;
        writeln!(f, "fingerprint {:032x}", self.fingerprint)?;
        writeln!(f, "program {}", if self.locks { "locks" } else { "plain" })?;
        match self.mark {
            None => writeln!(f, "mark none")?,
            Some((bit, value)) => writeln!(f, "mark {bit} {}", u8::from(value))?,
        }
        let key = |key: &Key| letter(&KEYS, key);
        for (of, listed, bits) in &self.facts.kinds {
            let place = if *listed { "listed" } else { "left" };
            writeln!(f, "kind {} {place} {bits}", key(of))?;
        }
        for (from, to) in &self.facts.links {
            let to = to
                .as_ref()
                .map_or("null".to_owned(), |to| key(to).to_string());
            writeln!(f, "link {} {to}", key(from))?;
        }
        let mut line = String::new();
        for view in &self.views {
            line.clear();
            print(view, &mut line)?;
            writeln!(f, "{line}")?;
        }
        writeln!(f, "end")
    }
}

fn print(view: &View, out: &mut String) -> fmt::Result {
    let flag = |is: bool, letter: char| if is { letter } else { '-' };
    let history = view.history;
    write!(
        out,
        "view {} {} {} {} {}{}{} {} {} | ",
        view.method,
        view.at,
        letter(&KEYS, &view.argument),
        if view.inside { "in" } else { "out" },
        flag(history.was_in, 'i'),
        flag(history.was_out, 'o'),
        flag(history.done, 'd'),
        view.bits,
        view.held
    )?;
    for (n, slot) in view.locals.iter().enumerate() {
        if n > 0 {
            out.push(',');
        }
        match slot {
            Slot::Null => out.push('0'),
            Slot::At(node) => write!(out, "{node}")?,
            Slot::Bool(value) => out.push(if *value { 't' } else { 'f' }),
            Slot::Key(key) => out.push(letter(&KEYS, key)),
            Slot::Empty => out.push('e'),
            Slot::Any => out.push('_'),
        }
    }
    out.push_str(" |");
    for node in &view.nodes {
        let (key, standing) = (letter(&KEYS, &node.key), letter(&STANDINGS, &node.standing));
        write!(out, " {key}{standing}:{}:{}:", node.bits, node.held)?;
        match node.link {
            Link::Null => out.push('0'),
            Link::To(to) => write!(out, "{to}")?,
            Link::Past(to) => write!(out, "*{}", to.unwrap_or(0))?,
            Link::Unknown => out.push('?'),
        }
    }
    Ok(())
}

/// Reads a certificate.
///
/// # Errors
/// The first line that is wrong.
pub fn parse(text: &str) -> Result<Certificate, Malformed> {
    let mut lines = meant(text);
    let last = text.lines().count();
    let mut certificate = Certificate {
        fingerprint: 0,
        locks: false,
        mark: None,
        facts: Facts::default(),
        views: Vec::new(),
    };
    let mut heads = 0;
    loop {
        let (number, line) = lines.next().ok_or(Malformed { line: last })?;
        let wrong = Malformed { line: number };
        if heads == 0 {
            if line != HEAD {
                return Err(wrong);
            }
            heads = 1;
            continue;
        }
        if line == "end" && heads == 4 {
            return match lines.next() {
                None => Ok(certificate),
                Some((line, _)) => Err(Malformed { line }),
            };
        }
        let (word, rest) = line.split_once(' ').ok_or_else(|| wrong.clone())?;
        entry(&mut certificate, &mut heads, word, rest).ok_or(wrong)?;
    }
}

/// One line; the first three in their order.
fn entry(certificate: &mut Certificate, heads: &mut u8, word: &str, rest: &str) -> Option<()> {
    let words: Vec<&str> = rest.split_whitespace().collect();
    match (*heads, word, words.as_slice()) {
        (1, "fingerprint", [hash]) => {
            certificate.fingerprint = u128::from_str_radix(hash, 16).ok()?;
            *heads = 2;
        }
        (2, "program", [how]) => {
            certificate.locks = one_of(how, "plain", "locks")?;
            *heads = 3;
        }
        (3, "mark", ["none"]) => *heads = 4,
        (3, "mark", [bit, value]) => {
            let bit = bit.parse().ok().filter(|bit| *bit < 8)?;
            certificate.mark = Some((bit, one_of(value, "0", "1")?));
            *heads = 4;
        }
        (4, "kind", [key, place, bits]) => {
            let listed = one_of(place, "left", "listed")?;
            let kind = (meaning(&KEYS, key)?, listed, bits.parse().ok()?);
            certificate.facts.kinds.insert(kind);
        }
        (4, "link", [from, to]) => {
            let to = match *to {
                "null" => None,
                key => Some(meaning(&KEYS, key)?),
            };
            certificate.facts.links.insert((meaning(&KEYS, from)?, to));
        }
        (4, "view", _) => certificate.views.push(view(rest)?),
        _ => return None,
    }
    Some(())
}

fn one_of(word: &str, no: &str, yes: &str) -> Option<bool> {
    match word {
        _ if word == no => Some(false),
        _ if word == yes => Some(true),
        _ => None,
    }
}

fn view(text: &str) -> Option<View> {
    let mut parts = text.split('|');
    let (head, locals, nodes, None) = (parts.next()?, parts.next()?, parts.next()?, parts.next())
    else {
        return None;
    };
    let words: Vec<&str> = head.split_whitespace().collect();
    let [method, at, argument, inside, history, bits, held] = words.as_slice() else {
        return None;
    };
    let flags: Vec<char> = history.chars().collect();
    let [was_in, was_out, done] = flags.as_slice() else {
        return None;
    };
    let flag = |c: char, letter: char| match c {
        '-' => Some(false),
        _ if c == letter => Some(true),
        _ => None,
    };
    let locals = locals.trim();
    let locals: Option<Vec<Slot>> = locals.split(',').map(slot).collect();
    let nodes: Option<Vec<Node>> = nodes.split_whitespace().map(node).collect();
    Some(View {
        method: method.parse().ok()?,
        at: at.parse().ok()?,
        argument: meaning(&KEYS, argument)?,
        inside: one_of(inside, "out", "in")?,
        history: History {
            was_in: flag(*was_in, 'i')?,
            was_out: flag(*was_out, 'o')?,
            done: flag(*done, 'd')?,
        },
        bits: bits.parse().ok()?,
        held: held.parse().ok()?,
        locals: locals?,
        nodes: nodes?,
    })
}

fn slot(word: &str) -> Option<Slot> {
    Some(match word {
        "0" => Slot::Null,
        "t" => Slot::Bool(true),
        "f" => Slot::Bool(false),
        "e" => Slot::Empty,
        "_" => Slot::Any,
        _ => match meaning(&KEYS, word) {
            Some(key) => Slot::Key(key),
            None => Slot::At(word.parse().ok()?),
        },
    })
}

fn node(word: &str) -> Option<Node> {
    let parts: Vec<&str> = word.split(':').collect();
    let [who, bits, held, link] = parts.as_slice() else {
        return None;
    };
    let (key, standing) = who.split_at_checked(1)?;
    let number = |text: &str| text.parse::<u8>().ok();
    let link = match link.strip_prefix('*') {
        Some(to) => Link::Past(Some(number(to)?).filter(|to| *to > 0)),
        None => match *link {
            "0" => Link::Null,
            "?" => Link::Unknown,
            to => Link::To(number(to)?),
        },
    };
    Some(Node {
        key: meaning(&KEYS, key)?,
        standing: meaning(&STANDINGS, standing)?,
        bits: number(bits)?,
        held: number(held)?,
        link,
    })
}
