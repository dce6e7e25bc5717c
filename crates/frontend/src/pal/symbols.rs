//! *Symbols*: what a text declares and where each name of it is meant, for editors. Works
//! on texts with errors too: whatever could be read counts.

use palisade_program::{Source, Span};

use super::ast::{Decl, Item, Name, Stmt, StmtKind};
use super::token::{BUILTINS, RESERVED, Tok};
use super::{lexer, parser};

/// What a name stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SymbolKind {
    /// A shared variable.
    Shared,
    /// A local variable, or a function's parameter.
    Local,
    /// A constant.
    Constant,
    /// A function.
    Function,
    /// A thread or a process.
    Thread,
    /// A label.
    Label,
}

impl SymbolKind {
    /// In words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Shared => "shared variable",
            Self::Local => "local variable",
            Self::Constant => "constant",
            Self::Function => "function",
            Self::Thread => "thread",
            Self::Label => "label",
        }
    }
}

/// A declaration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Symbol {
    /// The name.
    pub name: String,
    /// What it stands for.
    pub kind: SymbolKind,
    /// Where the name is declared.
    pub span: Span,
    /// The whole declaration.
    pub declaration: Span,
    /// The thread or function that it belongs to.
    pub owner: Option<String>,
    /// Where it is in scope; `None` is everywhere.
    scope: Option<Span>,
}

/// Words of the language that cannot be names.
pub fn reserved() -> &'static [&'static str] {
    RESERVED
}

/// Functions of the language.
pub fn builtins() -> &'static [&'static str] {
    BUILTINS
}

/// What a word of the language means, in a sentence; docs/language.md has the rest.
pub fn explain(word: &str) -> Option<&'static str> {
    EXPLAINED
        .iter()
        .find(|(w, _)| *w == word)
        .map(|(_, text)| *text)
}

const EXPLAINED: &[(&str, &str)] = &[
    ("assert", "`assert(c);` is violated where `c` is false."),
    ("assume", "`assume(c);` waits until `c` is true."),
    (
        "atomic",
        "`atomic { ... }` happens in one step; it waits for the thread's own stores.",
    ),
    ("break", "`break;` leaves the loop."),
    (
        "choose",
        "`choose { ... } or { ... }` does any one of them.",
    ),
    ("const", "`const N = 3;` names a number."),
    (
        "continue",
        "`continue;` goes to the next round of the loop.",
    ),
    ("do", "`do { ... } while (c);` runs at least once."),
    ("else", "`if (c) { ... } else { ... }`"),
    ("false", "0"),
    (
        "fence",
        "`fence;` waits until the thread's stores have reached memory; `fence(ss);` keeps stores in order.",
    ),
    (
        "finally",
        "`finally c;`: `c` holds when all threads have ended.",
    ),
    (
        "fn",
        "`fn f(a) { ... return a; }`: a function, copied to where it is called.",
    ),
    ("for", "`for (i = 0; i < N; i++) { ... }`"),
    ("goto", "`goto label;`"),
    ("if", "`if (c) { ... } else { ... }`"),
    ("int", "An integer without bounds."),
    ("local", "`local r in 0..3 = 0;`: a variable of the thread."),
    (
        "never",
        "`never c;`: no state is reached in which `c` holds, such as `a@critical && b@critical`.",
    ),
    ("predicate", "`predicate c;`: a hint for proofs."),
    (
        "process",
        "`process p { ... }`: a thread with memory that others reach by put and get.",
    ),
    (
        "reach",
        "`reach c;`: some run must reach a state in which `c` holds.",
    ),
    ("return", "`return e;` ends the function."),
    ("self", "The number of this copy, from 0."),
    (
        "shared",
        "`shared x in 0..3 = 0;`: memory that all threads see.",
    ),
    ("skip", "`skip;` does nothing."),
    (
        "thread",
        "`thread t { ... }`, `thread t[2]`: two copies, `thread t[*]`: any number.",
    ),
    ("true", "1"),
    ("while", "`while (c) { ... }`"),
    (
        "cas",
        "`cas(x, old, new)`: stores `new` if `x` is `old`; 1 if it was. One step.",
    ),
    (
        "xchg",
        "`xchg(x, v)`: stores `v`, returns what was there. One step.",
    ),
    (
        "fetch_add",
        "`fetch_add(x, v)`: adds `v`, returns what was there. One step.",
    ),
    (
        "lock",
        "`lock(m);` waits until `m` is 0 and stores 1. One step.",
    ),
    ("unlock", "`unlock(m);` stores 0."),
    (
        "put",
        "`put(x, p, e);` writes to another process's memory, some time before the next flush.",
    ),
    (
        "get",
        "`get(r, x, p);` reads another process's memory, some time before the next flush.",
    ),
    (
        "flush",
        "`flush(p);` waits until remote operations with `p` are done.",
    ),
    (
        "flush_local",
        "`flush_local(p);` waits until the own side of remote operations is done.",
    ),
    (
        "compare_and_swap",
        "A remote operation: replaces a value if it is the expected one.",
    ),
    (
        "fetch_and_op",
        "A remote operation: changes a value and returns what was there.",
    ),
    ("accumulate", "A remote operation: changes a value."),
    ("int8", "The value wrapped to 8 bits with a sign."),
    ("int16", "The value wrapped to 16 bits with a sign."),
    ("int32", "The value wrapped to 32 bits with a sign."),
    ("int64", "The value wrapped to 64 bits with a sign."),
    ("uint8", "The value wrapped to 8 bits without a sign."),
    ("uint16", "The value wrapped to 16 bits without a sign."),
    ("uint32", "The value wrapped to 32 bits without a sign."),
    ("uint64", "The value wrapped to 64 bits without a sign."),
];

/// The name or word at an offset.
pub fn word_at(source: &Source, offset: u32) -> Option<Span> {
    let lexed = lexer::lex(source);
    let names = lexed.tokens.into_iter().filter(|t| t.kind == Tok::Name);
    let mut around = names.map(|t| t.span);
    around.find(|span| span.start <= offset && offset <= span.end)
}

/// Everything that a text declares, in its order.
pub fn symbols(source: &Source) -> Vec<Symbol> {
    let parsed = parser::parse(source, &lexer::lex(source));
    let mut found = Found {
        all: Vec::new(),
        owner: None,
        scope: None,
    };
    for item in &parsed.file.items {
        match item {
            Item::Const { name, value } => {
                found.add(SymbolKind::Constant, name, name.span.to(value.span));
            }
            Item::Shared(declared) => found.declared(SymbolKind::Shared, declared),
            Item::Function(function) => {
                let body = around(&function.name, &function.body);
                found.add(SymbolKind::Function, &function.name, function.name.span);
                found.within(&function.name, body, |found| {
                    for parameter in &function.params {
                        found.add(SymbolKind::Local, parameter, parameter.span);
                    }
                    found.statements(&function.body);
                });
            }
            Item::Unit(unit) => {
                let body = around(&unit.name, &unit.body);
                found.add(SymbolKind::Thread, &unit.name, unit.name.span);
                found.within(&unit.name, body, |found| found.statements(&unit.body));
            }
            Item::Property(_) | Item::Predicate { .. } | Item::Reach { .. } => {}
        }
    }
    found.all
}

/// The declaration that the word at an offset means: in its own thread or function first;
/// behind a dot or `@`, in the thread that stands before it.
pub fn definition(source: &Source, offset: u32) -> Option<Symbol> {
    let span = word_at(source, offset)?;
    let word = source.slice(span);
    let all = symbols(source);
    let before = source.text()[..span.start as usize].trim_end();
    let owner = before.strip_suffix(['.', '@']).map(|rest| {
        let rest = rest
            .trim_end()
            .trim_end_matches(|c: char| c != ']' && !is_name(c));
        let rest = rest
            .rsplit_once('[')
            .filter(|_| rest.ends_with(']'))
            .map_or(rest, |r| r.0);
        let from = rest.rfind(|c| !is_name(c)).map_or(0, |at| at + 1);
        rest[from..].to_owned()
    });
    let named = |symbol: &&Symbol| symbol.name == word;
    let found = if let Some(owner) = &owner {
        let mut all = all.iter().filter(named);
        all.find(|symbol| symbol.owner.as_ref() == Some(owner))
    } else {
        let in_scope = |symbol: &&Symbol| {
            let scope = symbol.scope;
            scope.is_some_and(|of| of.start <= span.start && span.end <= of.end)
        };
        let near = all.iter().filter(named).rfind(in_scope);
        near.or_else(|| all.iter().filter(named).find(|s| s.scope.is_none()))
    };
    found.cloned()
}

/// From a name to the end of the statements behind it.
fn around(name: &Name, body: &[Stmt]) -> Span {
    name.span
        .to(body.last().map_or(name.span, |last| last.span))
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '$'
}

struct Found {
    all: Vec<Symbol>,
    owner: Option<String>,
    scope: Option<Span>,
}

impl Found {
    fn add(&mut self, kind: SymbolKind, name: &Name, declaration: Span) {
        self.all.push(Symbol {
            name: name.text.clone(),
            kind,
            span: name.span,
            declaration,
            owner: self.owner.clone(),
            scope: self.scope,
        });
    }

    fn within(&mut self, owner: &Name, scope: Span, inside: impl FnOnce(&mut Self)) {
        self.owner = Some(owner.text.clone());
        self.scope = Some(scope);
        inside(self);
        self.owner = None;
        self.scope = None;
    }

    fn declared(&mut self, kind: SymbolKind, all: &[Decl]) {
        for decl in all {
            self.add(kind, &decl.name, decl.span);
        }
    }

    fn statements(&mut self, all: &[Stmt]) {
        for statement in all {
            self.statement(statement);
        }
    }

    fn statement(&mut self, statement: &Stmt) {
        for label in &statement.labels {
            self.add(SymbolKind::Label, label, label.span);
        }
        match &statement.kind {
            StmtKind::Local(declared) => self.declared(SymbolKind::Local, declared),
            StmtKind::Shared(declared) => self.declared(SymbolKind::Shared, declared),
            StmtKind::Block(body) | StmtKind::Atomic(_, body) => self.statements(body),
            StmtKind::If { arms, otherwise } => {
                for (_, body) in arms {
                    self.statement(body);
                }
                if let Some(body) = otherwise {
                    self.statement(body);
                }
            }
            StmtKind::While { body, .. } | StmtKind::DoWhile { body, .. } => self.statement(body),
            StmtKind::For {
                init, update, body, ..
            } => {
                for part in init.iter().chain(update) {
                    self.statement(part);
                }
                self.statement(body);
            }
            StmtKind::Choose(arms) => {
                for arm in arms {
                    self.statements(arm);
                }
            }
            StmtKind::Empty
            | StmtKind::Assign { .. }
            | StmtKind::Update { .. }
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Goto(_)
            | StmtKind::Assume(_)
            | StmtKind::Assert(_)
            | StmtKind::Skip
            | StmtKind::Lock(_)
            | StmtKind::Unlock(_)
            | StmtKind::Fence(_)
            | StmtKind::Return(_)
            | StmtKind::Call(_)
            | StmtKind::Put { .. }
            | StmtKind::Get { .. }
            | StmtKind::RemoteAtomic(_)
            | StmtKind::Flush(..) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "const N = 2; shared x[N] = 0, y;\n\
        fn twice(v) { local r; r = v + v; return r; }\n\
        thread a[N] { local r; r = x[self]; while (r > 0) { cs: r = twice(r); } }\n\
        thread b { local r; y = r; }\n\
        never a[0]@cs && b.r == y;\n";

    fn defined(at: &str, nth: usize) -> (String, SymbolKind, Option<String>) {
        let source = Source::new("t.pal", TEXT);
        let (start, _) = TEXT.match_indices(at).nth(nth).expect(at);
        let symbol = definition(&source, start as u32).expect(at);
        let text = source.slice(symbol.declaration).to_owned();
        (text, symbol.kind, symbol.owner)
    }

    #[test]
    fn names_mean_the_nearest_declaration() {
        let owned = |name: &str| Some(name.to_owned());
        assert_eq!(defined("x[self]", 0).0, "x[N] = 0");
        assert_eq!(defined("N] {", 0).1, SymbolKind::Constant);
        assert_eq!(defined("r > 0", 0).2, owned("a"));
        assert_eq!(defined("r;", 4).2, owned("b"));
        assert_eq!(defined("v + v", 0).2, owned("twice"));
        assert_eq!(defined("twice(r)", 0).1, SymbolKind::Function);
        assert_eq!(
            defined("cs &&", 0),
            ("cs".into(), SymbolKind::Label, owned("a"))
        );
        assert_eq!(defined("r ==", 0).2, owned("b"));
        assert_eq!(defined("a[0]", 0).1, SymbolKind::Thread);
    }

    #[test]
    fn every_word_is_explained() {
        for word in RESERVED.iter().chain(BUILTINS) {
            assert!(explain(word).is_some(), "{word}");
        }
    }

    #[test]
    fn broken_texts_have_symbols_too() {
        let source = Source::new(
            "t.pal",
            "shared x; thread t { x = ; here: skip; } never x ==",
        );
        let names: Vec<String> = symbols(&source).into_iter().map(|s| s.name).collect();
        assert_eq!(names[0], "x");
        assert!(definition(&source, 100).is_none());
    }
}
