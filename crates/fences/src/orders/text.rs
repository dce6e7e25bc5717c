//! *How an order is written*: the words of the source that say the order of an access, and the
//! changes that make them say another one. An access whose order is not in the text of its own
//! call (it comes from a macro, a variable, a header) has no such words, and keeps its order.
//!
//! | source | with another order |
//! |---|---|
//! | `atomic_store_explicit(&x, 1, memory_order_relaxed)` | the last argument changes |
//! | `atomic_store(&x, 1)` | `atomic_store_explicit(&x, 1, memory_order_release)` |
//! | `__atomic_load_n(&x, __ATOMIC_ACQUIRE)` | the last argument changes |
//! | `x = 1;`, `x++;` for an `_Atomic` x | `atomic_store_explicit(&x, 1, ...)`, ... |
//! | `x` for an `_Atomic` x | `atomic_load_explicit(&x, ...)` |
//! | Rust: `x.store(1, Ordering::Relaxed)` | the last word of the path changes |
//! | `.pal`: `cas(x, 0, 1)` | `cas(x, 0, 1, acquire, relaxed)` |

use palisade_program::{Order, Source, Span};

use super::level::{Carrier, Strength};

/// The source language, as far as orders are written in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Words {
    /// `.pal`
    Pal,
    /// C with `stdatomic.h` or gcc's builtins.
    C,
    /// Rust with `std::sync::atomic`.
    Rust,
}

/// A change: this text instead of that span.
pub type Change = (Span, String);

/// Where the order of an access is written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Written {
    span: Span,
    form: Form,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Form {
    Call(Call),
    /// `place op value`, or `place++`: an access by an operator of C.
    Operator {
        function: &'static str,
        place: Span,
        value: Option<Span>,
    },
    /// `fence` of `.pal`, without an order.
    Fence,
    /// A method of Rust: the names of its orders.
    Method(Vec<Span>),
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Call {
    name: Span,
    args: Vec<Span>,
    /// Before the closing parenthesis.
    close: u32,
    form: CallForm,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct CallForm {
    /// The index of the argument that is the order, and of that for failure.
    order: usize,
    failing: Option<usize>,
    /// What the name gets if an order is added.
    suffix: &'static str,
    /// How orders are spelt.
    prefix: Prefix,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Prefix {
    None,
    MemoryOrder,
    Builtin,
}

impl Prefix {
    fn word(self, order: Order) -> String {
        match self {
            Self::None => order.to_string(),
            Self::MemoryOrder => format!("memory_order_{order}"),
            Self::Builtin => format!("__ATOMIC_{}", order.to_string().to_uppercase()),
        }
    }

    fn read(self, word: &str) -> Option<Order> {
        let named = |order: &Order| self.word(*order) == word;
        Order::ATOMIC.into_iter().find(named)
    }
}

impl Written {
    /// The words for the order of the access that stands at `span`.
    pub fn find(source: &Source, span: Span, carrier: Carrier, words: Words) -> Option<Self> {
        if words == Words::Rust {
            let form = method(source, span, carrier).map(Form::Method)?;
            return Some(Self { span, form });
        }
        let call = || call(source, span, carrier, words).map(Form::Call);
        let operator = || match words {
            Words::Pal => {
                let word = source.slice(span).trim_end_matches(';').trim_end();
                (word == "fence").then_some(Form::Fence)
            }
            Words::C | Words::Rust => operator(source, span, carrier),
        };
        let form = call().or_else(operator)?;
        Some(Self { span, form })
    }

    /// The changes that make it say `strength`; those of `failing` only if it has such an order.
    pub fn changes(&self, source: &Source, strength: Strength) -> Vec<Change> {
        match &self.form {
            Form::Call(call) => call.changes(source, strength),
            Form::Method(names) => {
                let orders = [Some(strength.order), strength.failing];
                let wanted = orders.into_iter().flatten().map(rust_name);
                let changed = names.iter().copied().zip(wanted);
                changed
                    .filter(|(at, name)| source.slice(*at) != *name)
                    .map(|(at, name)| (at, name.to_owned()))
                    .collect()
            }
            Form::Fence => {
                let end = self.span.start + "fence".len() as u32;
                vec![(
                    Span { end, ..self.span },
                    format!("fence({})", strength.order),
                )]
            }
            Form::Operator {
                function,
                place,
                value,
            } => {
                let place = source.slice(*place);
                let place = match place.strip_prefix('*') {
                    Some(pointer) => pointer.trim_start().to_owned(),
                    None => format!("&{place}"),
                };
                let order = Prefix::MemoryOrder.word(strength.order);
                let text = match (*function, value) {
                    ("load", _) => format!("atomic_load_explicit({place}, {order})"),
                    (function, Some(value)) => {
                        let value = source.slice(*value);
                        format!("atomic_{function}_explicit({place}, {value}, {order})")
                    }
                    (function, None) => format!("atomic_{function}_explicit({place}, 1, {order})"),
                };
                vec![(self.span, text)]
            }
        }
    }

    /// The whole statement that a fence is.
    pub fn statement(&self, source: &Source) -> Span {
        let after = &source.text()[self.span.end as usize..];
        let blank = after.len() - after.trim_start().len();
        let mut span = self.span;
        if after.trim_start().starts_with(';') {
            span.end += blank as u32 + 1;
        }
        span
    }
}

impl Call {
    fn changes(&self, source: &Source, strength: Strength) -> Vec<Change> {
        let mut changes = Vec::new();
        let mut added = String::new();
        let orders = [
            Some((self.form.order, strength.order)),
            self.form.failing.zip(strength.failing),
        ];
        for (index, order) in orders.into_iter().flatten() {
            let word = self.form.prefix.word(order);
            match self.args.get(index) {
                Some(&at) if source.slice(at) != word => changes.push((at, word)),
                Some(_) => {}
                None if index == 0 => added.push_str(&word),
                None => added.extend([", ", &word]),
            }
        }
        if !added.is_empty() {
            let at = |offset| Span {
                start: offset,
                end: offset,
            };
            if self.args.len() <= self.form.order && !self.form.suffix.is_empty() {
                changes.push((at(self.name.end), self.form.suffix.to_owned()));
            }
            changes.push((at(self.close), added));
        }
        changes
    }
}

/// The name of an order in Rust.
pub(crate) const fn rust_name(order: Order) -> &'static str {
    match order {
        Order::Plain | Order::Relaxed => "Relaxed",
        Order::Acquire => "Acquire",
        Order::Release => "Release",
        Order::AcqRel => "AcqRel",
        Order::SeqCst => "SeqCst",
    }
}

/// The names of the orders of the first call in `span` that can be the access: the last words
/// of its last arguments.
fn method(source: &Source, span: Span, carrier: Carrier) -> Option<Vec<Span>> {
    let names: &[&str] = match carrier {
        Carrier::Load => &["load"],
        Carrier::Store => &["store"],
        Carrier::Update => &[
            "swap",
            "fetch_add",
            "fetch_sub",
            "fetch_and",
            "fetch_or",
            "fetch_xor",
            "fetch_nand",
            "fetch_max",
            "fetch_min",
        ],
        Carrier::Swap => &["compare_exchange", "compare_exchange_weak"],
        Carrier::Fence => &["fence"],
    };
    let text = source.slice(span);
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut at = 0;
    while let Some(open) = text[at..].find('(').map(|i| i + at) {
        let name = text[..open].rsplit(|c| !is_part(c)).next().unwrap_or("");
        if names.contains(&name) {
            let (args, _) = arguments(text, open)?;
            let count = if carrier == Carrier::Swap { 2 } else { 1 };
            let orders = &args[args.len().checked_sub(count)?..];
            let word = |&(start, end): &(usize, usize)| {
                let path = &text[start..end];
                let name = path.rsplit("::").next().unwrap_or(path);
                let known = Order::ATOMIC
                    .into_iter()
                    .any(|order| rust_name(order) == name);
                let start = span.start + (end - name.len()) as u32;
                let end = span.start + end as u32;
                known.then_some(Span { start, end })
            };
            return orders.iter().map(word).collect();
        }
        at = open + 1;
    }
    None
}

/// The call that is the whole text of `span`, if its name is one with an order.
fn call(source: &Source, span: Span, carrier: Carrier, words: Words) -> Option<Call> {
    let text = source.slice(span);
    let name_end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_')?;
    let (name, rest) = text.split_at(name_end);
    let open = name_end + (rest.len() - rest.trim_start().len());
    if !text[open..].starts_with('(') {
        return None;
    }
    let (args, close) = arguments(text, open)?;
    let rest = text[close + 1..].trim();
    if !(rest.is_empty() || rest == ";") {
        return None;
    }
    let form = form(name, words, carrier)?;
    let span_of = |start: usize, end: usize| Span {
        start: span.start + start as u32,
        end: span.start + end as u32,
    };
    let args: Vec<Span> = args.into_iter().map(|(a, b)| span_of(a, b)).collect();
    let least = form.order;
    // Orders that are there must be words for orders.
    let named = |index: usize| {
        let word = args.get(index).map(|at| source.slice(*at));
        word.is_none_or(|word| form.prefix.read(word).is_some())
    };
    let complete = args.len() >= least && form.failing.is_none_or(named) && named(form.order);
    let may_add = args.len() > least || words == Words::Pal || !form.suffix.is_empty();
    (complete && may_add).then(|| Call {
        name: span_of(0, name_end),
        args,
        close: span.start + close as u32,
        form,
    })
}

/// The arguments of a call whose parenthesis stands at `open`, and where it is closed.
fn arguments(text: &str, open: usize) -> Option<(Vec<(usize, usize)>, usize)> {
    let mut args = Vec::new();
    let (mut depth, mut start) = (0_u32, open + 1);
    let trimmed = |start: usize, end: usize| {
        let slice = &text[start..end];
        let left = slice.len() - slice.trim_start().len();
        (start + left, start + left + slice.trim().len())
    };
    for (at, c) in text.char_indices().skip_while(|(at, _)| *at < open) {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    let last = trimmed(start, at);
                    if last.0 < last.1 {
                        args.push(last);
                    }
                    return Some((args, at));
                }
            }
            ',' if depth == 1 => {
                args.push(trimmed(start, at));
                start = at + 1;
            }
            // Texts with strings and comments are left alone.
            '"' | '\'' => return None,
            '/' if text[at + 1..].starts_with(['/', '*']) => return None,
            _ => {}
        }
    }
    None
}

fn form(name: &str, words: Words, carrier: Carrier) -> Option<CallForm> {
    let at = |order, failing, suffix, prefix| {
        Some(CallForm {
            order,
            failing,
            suffix,
            prefix,
        })
    };
    if words == Words::Pal {
        return match (name, carrier) {
            // A block's load has one order, whatever it is the order of.
            ("load", _) => at(1, None, "", Prefix::None),
            ("store", _) => at(2, None, "", Prefix::None),
            ("cas", Carrier::Swap) => at(3, Some(4), "", Prefix::None),
            ("xchg" | "fetch_add", Carrier::Update) => at(2, None, "", Prefix::None),
            ("fence", Carrier::Fence) => at(0, None, "", Prefix::None),
            _ => None,
        };
    }
    if let Some(rest) = name.strip_prefix("__atomic_") {
        let (order, failing) = match (rest, carrier) {
            ("load_n", Carrier::Load) => (1, None),
            ("load", Carrier::Load) => (2, None),
            ("store_n" | "store", Carrier::Store) => (2, None),
            ("clear", Carrier::Store) => (1, None),
            ("test_and_set", Carrier::Update) => (1, None),
            ("exchange", Carrier::Update) => (3, None),
            ("compare_exchange_n" | "compare_exchange", Carrier::Swap) => (4, Some(5)),
            ("thread_fence", Carrier::Fence) => (0, None),
            (_, Carrier::Update) => (2, None),
            _ => return None,
        };
        return at(order, failing, "", Prefix::Builtin);
    }
    let rest = name.strip_prefix("atomic_")?;
    let (rest, suffix) = match rest.strip_suffix("_explicit") {
        Some(rest) => (rest, ""),
        None => (rest, "_explicit"),
    };
    let (order, failing) = match (rest, carrier) {
        ("load", Carrier::Load) => (1, None),
        ("store", Carrier::Store) => (2, None),
        ("flag_clear", Carrier::Store) | ("flag_test_and_set", Carrier::Update) => (1, None),
        ("compare_exchange_strong" | "compare_exchange_weak", Carrier::Swap) => (3, Some(4)),
        ("thread_fence", Carrier::Fence) => return at(0, None, "", Prefix::MemoryOrder),
        (_, Carrier::Update) => (2, None),
        _ => return None,
    };
    at(order, failing, suffix, Prefix::MemoryOrder)
}

/// An access of an `_Atomic` variable by an operator: its value, or a statement that stores.
fn operator(source: &Source, span: Span, carrier: Carrier) -> Option<Form> {
    let text = source.slice(span);
    if carrier == Carrier::Load {
        return is_place(text).then_some(Form::Operator {
            function: "load",
            place: span,
            value: None,
        });
    }
    let before = source.text()[..span.start as usize].trim_end();
    let after = source.text()[span.end as usize..].trim_start();
    let text = text.trim_end_matches(';').trim_end();
    let is_statement = before.ends_with([';', '{', '}', ')', ':'])
        && (after.starts_with(';') || source.slice(span).ends_with(';'));
    if !is_statement {
        return None;
    }
    let part = |start: usize, end: usize| Span {
        start: span.start + start as u32,
        end: span.start + end as u32,
    };
    for (sign, function) in [("++", "fetch_add"), ("--", "fetch_sub")] {
        if let Some(place) = text.strip_suffix(sign).map(str::trim_end)
            && carrier == Carrier::Update
            && is_place(place)
        {
            return Some(Form::Operator {
                function,
                place: part(0, place.len()),
                value: None,
            });
        }
    }
    let (left, _) = text.split_once('=')?;
    let place = left.trim_end_matches(['+', '-', '|', '&', '^']).trim_end();
    let function = match (&left[place.len()..].trim(), carrier) {
        (&"", Carrier::Store) => "store",
        (&"+", Carrier::Update) => "fetch_add",
        (&"-", Carrier::Update) => "fetch_sub",
        (&"|", Carrier::Update) => "fetch_or",
        (&"&", Carrier::Update) => "fetch_and",
        (&"^", Carrier::Update) => "fetch_xor",
        _ => return None,
    };
    let value = &text[left.len() + 1..];
    let start = text.len() - value.trim_start().len();
    // A comma operator, or a comparison, would read otherwise as an argument.
    let plain = !value.starts_with('=') && !value.contains([',', '"', '\'', '?']);
    (is_place(place) && plain).then(|| Form::Operator {
        function,
        place: part(0, place.len()),
        value: Some(part(start, text.len())),
    })
}

/// Whether a text is a variable, an element or a member, or what a variable points to.
fn is_place(text: &str) -> bool {
    let text = text.strip_prefix('*').map_or(text, str::trim_start);
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '[' | ']');
    let first = text.chars().next();
    first.is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && text.replace("->", ".").chars().all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(words: Words, text: &str, carrier: Carrier, level: (Order, Option<Order>), to: &str) {
        let source = Source::new("test", format!("{{ {text}; }}"));
        let end = 2 + text.len() as u32;
        let written = Written::find(&source, Span { start: 2, end }, carrier, words);
        let strength = Strength {
            order: level.0,
            failing: level.1,
        };
        let changed = written.map(|written| {
            let mut changes = written.changes(&source, strength);
            changes.sort_by_key(|(span, _)| std::cmp::Reverse(span.start));
            let mut all = source.text().to_owned();
            for (span, text) in changes {
                all.replace_range(span.start as usize..span.end as usize, &text);
            }
            all
        });
        let expected = (!to.is_empty()).then(|| format!("{{ {to}; }}"));
        assert_eq!(changed, expected, "{text}");
    }

    #[test]
    fn calls_of_c() {
        let acquire = (Order::Acquire, None);
        check(
            Words::C,
            "atomic_load_explicit(&x, memory_order_relaxed)",
            Carrier::Load,
            acquire,
            "atomic_load_explicit(&x, memory_order_acquire)",
        );
        check(
            Words::C,
            "atomic_exchange(&t[f(1, 2)], 1)",
            Carrier::Update,
            acquire,
            "atomic_exchange_explicit(&t[f(1, 2)], 1, memory_order_acquire)",
        );
        check(
            Words::C,
            "__atomic_compare_exchange_n(p, &e, 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)",
            Carrier::Swap,
            (Order::AcqRel, Some(Order::Relaxed)),
            "__atomic_compare_exchange_n(p, &e, 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)",
        );
        check(
            Words::C,
            "atomic_load_explicit(&x, mo)",
            Carrier::Load,
            acquire,
            "",
        );
        check(Words::C, "LOAD(x)", Carrier::Load, acquire, "");
    }

    #[test]
    fn operators_of_c() {
        let release = (Order::Release, None);
        check(
            Words::C,
            "p->x = a + 1",
            Carrier::Store,
            release,
            "atomic_store_explicit(&p->x, a + 1, memory_order_release)",
        );
        check(
            Words::C,
            "*n += 2",
            Carrier::Update,
            release,
            "atomic_fetch_add_explicit(n, 2, memory_order_release)",
        );
        check(
            Words::C,
            "n++",
            Carrier::Update,
            release,
            "atomic_fetch_add_explicit(&n, 1, memory_order_release)",
        );
        check(
            Words::C,
            "flag[1]",
            Carrier::Load,
            (Order::Acquire, None),
            "atomic_load_explicit(&flag[1], memory_order_acquire)",
        );
        check(Words::C, "f(x) + 1", Carrier::Load, release, "");
    }

    #[test]
    fn methods_of_rust() {
        check(
            Words::Rust,
            "self.head.store(f(1, 2), Ordering::Relaxed)",
            Carrier::Store,
            (Order::Release, None),
            "self.head.store(f(1, 2), Ordering::Release)",
        );
        check(
            Words::Rust,
            "compare_exchange_weak(a, b, SeqCst, Relaxed).is_ok()",
            Carrier::Swap,
            (Order::AcqRel, Some(Order::Acquire)),
            "compare_exchange_weak(a, b, AcqRel, Acquire).is_ok()",
        );
        check(
            Words::Rust,
            "x.load(order)",
            Carrier::Load,
            (Order::Acquire, None),
            "",
        );
    }

    #[test]
    fn calls_of_pal() {
        check(
            Words::Pal,
            "cas(x, 0, 1)",
            Carrier::Swap,
            (Order::Acquire, Some(Order::Relaxed)),
            "cas(x, 0, 1, acquire, relaxed)",
        );
        check(
            Words::Pal,
            "store(a[i], f(x, y), seq_cst)",
            Carrier::Store,
            (Order::Release, None),
            "store(a[i], f(x, y), release)",
        );
    }
}
