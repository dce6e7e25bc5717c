//! Questions about the syntax tree: which names are assigned, whose address is
//! taken, which functions start or await threads.

use std::collections::{HashMap, HashSet};

use crate::c::ast::{
    Declaration, Expr, ExprKind, File, Function, Initializer, Item, Stmt, StmtKind, Unary,
};

/// Calls `f` on every expression inside, from the outside in.
pub(in crate::c) fn each_expr<'a>(e: &'a Expr, f: &mut dyn FnMut(&'a Expr)) {
    f(e);
    match &e.kind {
        ExprKind::Int(..) | ExprKind::Float(_) | ExprKind::Str(_) | ExprKind::Ident(_) => {}
        ExprKind::UnknownSize => {}
        ExprKind::Unary(_, a) | ExprKind::Member(a, _) | ExprKind::Arrow(a, _) => each_expr(a, f),
        ExprKind::Cast(_, a) => each_expr(a, f),
        ExprKind::Binary(_, a, b) | ExprKind::Assign(_, a, b) | ExprKind::Index(a, b) => {
            each_expr(a, f);
            each_expr(b, f);
        }
        ExprKind::Comma(a, b) => {
            each_expr(a, f);
            each_expr(b, f);
        }
        ExprKind::Cond(c, a, b) => {
            each_expr(c, f);
            if let Some(a) = a {
                each_expr(a, f);
            }
            each_expr(b, f);
        }
        ExprKind::Call(callee, args) => {
            each_expr(callee, f);
            for a in args {
                each_expr(a, f);
            }
        }
        ExprKind::Statements(body) => body.iter().for_each(|s| each_in_stmt(s, f)),
        ExprKind::Compound(_, init) => each_in_init(init, f),
    }
}

fn each_in_init<'a>(init: &'a Initializer, f: &mut dyn FnMut(&'a Expr)) {
    match init {
        Initializer::Value(e) => each_expr(e, f),
        Initializer::List(list, _) => list.iter().for_each(|(_, i)| each_in_init(i, f)),
    }
}

/// Calls `f` on every expression of a statement.
pub(in crate::c) fn each_in_stmt<'a>(s: &'a Stmt, f: &mut dyn FnMut(&'a Expr)) {
    each_stmt(s, &mut |s| match &s.kind {
        StmtKind::Expr(e) | StmtKind::If(e, ..) | StmtKind::While(e, _) => each_expr(e, f),
        StmtKind::DoWhile(_, e) | StmtKind::Switch(e, _) => each_expr(e, f),
        StmtKind::Return(Some(e)) => each_expr(e, f),
        StmtKind::For(_, cond, step, _) => {
            cond.iter().chain(step).for_each(|e| each_expr(e, f));
        }
        StmtKind::Declare(all) => {
            for d in all {
                d.length.iter().for_each(|e| each_expr(e, f));
                d.init.iter().for_each(|i| each_in_init(i, f));
            }
        }
        StmtKind::Empty | StmtKind::Block(_) | StmtKind::Case(..) | StmtKind::Default(_) => {}
        StmtKind::Label(..) | StmtKind::Goto(_) | StmtKind::Break | StmtKind::Continue => {}
        StmtKind::Return(None) | StmtKind::Asm(_) | StmtKind::Refused(_) | StmtKind::Gap => {}
    });
}

/// Calls `f` on a statement and all inside it, not those of statement expressions.
pub(in crate::c) fn each_stmt<'a>(s: &'a Stmt, f: &mut dyn FnMut(&'a Stmt)) {
    f(s);
    match &s.kind {
        StmtKind::Block(body) => body.iter().for_each(|s| each_stmt(s, f)),
        StmtKind::If(_, a, b) => {
            each_stmt(a, f);
            if let Some(b) = b {
                each_stmt(b, f);
            }
        }
        StmtKind::While(_, a) | StmtKind::DoWhile(a, _) | StmtKind::Switch(_, a) => each_stmt(a, f),
        StmtKind::For(init, _, _, a) => {
            if let Some(init) = init {
                each_stmt(init, f);
            }
            each_stmt(a, f);
        }
        StmtKind::Case(_, _, a) | StmtKind::Default(a) | StmtKind::Label(_, a) => each_stmt(a, f),
        StmtKind::Empty | StmtKind::Expr(_) | StmtKind::Declare(_) | StmtKind::Goto(_) => {}
        StmtKind::Break | StmtKind::Continue | StmtKind::Return(_) => {}
        StmtKind::Asm(_) | StmtKind::Refused(_) | StmtKind::Gap => {}
    }
}

/// Whether jumps from outside may lead into a statement: it has a label, or a case of
/// a switch around it.
pub(super) fn is_entered(s: &Stmt) -> bool {
    let mut found = false;
    each_stmt(s, &mut |s| {
        found |= matches!(s.kind, StmtKind::Label(..));
    });
    let (values, default) = cases(s);
    found || !values.is_empty() || default
}

/// The case labels of a `switch` body, not those of switches inside.
pub(super) fn cases(s: &Stmt) -> (Vec<(i128, i128)>, bool) {
    fn collect(s: &Stmt, values: &mut Vec<(i128, i128)>, default: &mut bool) {
        match &s.kind {
            StmtKind::Switch(..) => {}
            StmtKind::Case(lo, hi, a) => {
                values.push((*lo, *hi));
                collect(a, values, default);
            }
            StmtKind::Default(a) => {
                *default = true;
                collect(a, values, default);
            }
            StmtKind::Block(body) => body.iter().for_each(|s| collect(s, values, default)),
            StmtKind::If(_, a, b) => {
                collect(a, values, default);
                if let Some(b) = b {
                    collect(b, values, default);
                }
            }
            StmtKind::While(_, a) | StmtKind::DoWhile(a, _) | StmtKind::For(_, _, _, a) => {
                collect(a, values, default);
            }
            StmtKind::Label(_, a) => collect(a, values, default),
            StmtKind::Empty | StmtKind::Expr(_) | StmtKind::Declare(_) | StmtKind::Goto(_) => {}
            StmtKind::Break | StmtKind::Continue | StmtKind::Return(_) => {}
            StmtKind::Asm(_) | StmtKind::Refused(_) | StmtKind::Gap => {}
        }
    }
    let (mut values, mut default) = (Vec::new(), false);
    collect(s, &mut values, &mut default);
    (values, default)
}

/// The variable at the root of a place: `x` of `x.f[2]`; none behind a pointer.
fn root(e: &Expr) -> Option<&str> {
    match &e.kind {
        ExprKind::Ident(name) => Some(name),
        ExprKind::Member(a, _) | ExprKind::Index(a, _) | ExprKind::Cast(_, a) => root(a),
        _ => None,
    }
}

/// The names that an expression assigns.
fn assigned_in(e: &Expr, names: &mut HashSet<String>) {
    each_expr(e, &mut |e| {
        let target = match &e.kind {
            ExprKind::Assign(_, a, _) => root(a),
            ExprKind::Unary(
                Unary::PreIncrement
                | Unary::PreDecrement
                | Unary::PostIncrement
                | Unary::PostDecrement
                | Unary::Address,
                a,
            ) => root(a),
            _ => None,
        };
        names.extend(target.map(str::to_owned));
    });
}

/// The names that a statement assigns, with those whose address it takes.
pub(in crate::c) fn assigned(stmts: &[&Stmt], exprs: &[&Expr]) -> HashSet<String> {
    let mut names = HashSet::new();
    for e in exprs {
        assigned_in(e, &mut names);
    }
    for s in stmts {
        each_in_stmt(s, &mut |e| assigned_in(e, &mut names));
    }
    names
}

/// Whether argument `k` of a function is a place rather than a pointer: `&x` there does
/// not make `x` an object in memory.
pub(in crate::c) fn takes_place(name: &str, k: usize) -> bool {
    let atomic = ["atomic_", "__atomic_", "__sync_"];
    if atomic.iter().any(|family| name.starts_with(family)) {
        let whole = matches!(
            name,
            "__atomic_load" | "__atomic_store" | "__atomic_exchange"
        );
        return match k {
            0 => true,
            1 => whole || name.contains("compare_exchange"),
            2 => matches!(name, "__atomic_exchange" | "__atomic_compare_exchange"),
            _ => false,
        };
    }
    let starts = starts_thread(name);
    super::mpi::takes_places(name) || starts && k == 0 || awaits_thread(name)
}

/// Whether a function of the library starts a thread.
pub(super) fn starts_thread(name: &str) -> bool {
    matches!(name, "pthread_create" | "thrd_create") || super::openmp::starts(name)
}

/// Whether a function of the library awaits a thread.
fn awaits_thread(name: &str) -> bool {
    matches!(name, "pthread_join" | "thrd_join")
}

/// What a function does with the addresses of its variables.
#[derive(Default)]
pub(super) struct Addresses {
    /// Names under `&`.
    pub(super) taken: HashSet<String>,
    /// Of those, names whose address goes elsewhere than into a call.
    pub(super) escaped: HashSet<String>,
    /// Names used as they are: arrays among them become pointers.
    pub(super) decayed: HashSet<String>,
}

/// What the body of a function does with addresses.
pub(super) fn addresses(body: &[Stmt]) -> Addresses {
    let mut all = Addresses::default();
    for s in body {
        each_top_expr(s, &mut |e| note_addresses(e, &mut all));
    }
    all
}

/// Calls `f` on the expressions that stand directly in a statement or inside it.
fn each_top_expr<'a>(s: &'a Stmt, f: &mut dyn FnMut(&'a Expr)) {
    each_stmt(s, &mut |s| match &s.kind {
        StmtKind::Expr(e) | StmtKind::If(e, ..) | StmtKind::While(e, _) => f(e),
        StmtKind::DoWhile(_, e) | StmtKind::Switch(e, _) => f(e),
        StmtKind::Return(Some(e)) => f(e),
        StmtKind::For(_, cond, step, _) => cond.iter().chain(step).for_each(&mut *f),
        StmtKind::Declare(all) => {
            for d in all {
                d.length.iter().for_each(|e| f(e));
                d.init.iter().for_each(|i| top_of_init(i, f));
            }
        }
        StmtKind::Empty | StmtKind::Block(_) | StmtKind::Case(..) | StmtKind::Default(_) => {}
        StmtKind::Label(..) | StmtKind::Goto(_) | StmtKind::Break | StmtKind::Continue => {}
        StmtKind::Return(None) | StmtKind::Asm(_) | StmtKind::Refused(_) | StmtKind::Gap => {}
    });
}

pub(super) fn top_of_init<'a>(init: &'a Initializer, f: &mut dyn FnMut(&'a Expr)) {
    match init {
        Initializer::Value(e) => f(e),
        Initializer::List(list, _) => list.iter().for_each(|(_, i)| top_of_init(i, f)),
    }
}

/// Notes what an expression does with addresses. A name as the base of an index or
/// a member is a part of the variable; anywhere else an array becomes a pointer.
fn note_addresses(e: &Expr, all: &mut Addresses) {
    match &e.kind {
        ExprKind::Ident(name) => {
            all.decayed.insert(name.clone());
        }
        ExprKind::Unary(Unary::Address, a) => {
            all.taken.extend(root(a).map(str::to_owned));
            all.escaped.extend(root(a).map(str::to_owned));
            note_path(a, all);
        }
        ExprKind::Call(callee, args) => {
            let creates = matches!(&callee.kind, ExprKind::Ident(name) if starts_thread(name));
            if !matches!(callee.kind, ExprKind::Ident(_)) {
                note_addresses(callee, all);
            }
            let name = match &callee.kind {
                ExprKind::Ident(name) => name.as_str(),
                _ => "",
            };
            let is_place = |k| takes_place(name, k);
            for (k, a) in args.iter().enumerate() {
                let is_buffer = matches!(&callee.kind,
                    ExprKind::Ident(name) if super::mpi::is_buffer(name, k));
                match address_operand(a) {
                    // The network reads and writes it later: it has to be in memory.
                    Some(_) if is_buffer => note_addresses(a, all),
                    Some(inner) if is_place(k) => note_path(inner, all),
                    Some(inner) if !creates => {
                        all.taken.extend(root(inner).map(str::to_owned));
                        note_path(inner, all);
                    }
                    _ => note_addresses(a, all),
                }
            }
        }
        ExprKind::Index(..) | ExprKind::Member(..) => note_path(e, all),
        ExprKind::Unary(_, a) | ExprKind::Cast(_, a) | ExprKind::Arrow(a, _) => {
            note_addresses(a, all);
        }
        ExprKind::Binary(_, a, b) | ExprKind::Comma(a, b) | ExprKind::Assign(_, a, b) => {
            note_addresses(a, all);
            note_addresses(b, all);
        }
        ExprKind::Cond(c, a, b) => {
            note_addresses(c, all);
            if let Some(a) = a {
                note_addresses(a, all);
            }
            note_addresses(b, all);
        }
        ExprKind::Statements(body) => {
            for s in body {
                each_top_expr(s, &mut |e| note_addresses(e, all));
            }
        }
        ExprKind::Compound(_, init) => top_of_init(init, &mut |e| note_addresses(e, all)),
        ExprKind::Int(..) | ExprKind::Float(_) | ExprKind::Str(_) | ExprKind::UnknownSize => {}
    }
}

/// `x` of `&x`, through casts.
fn address_operand(e: &Expr) -> Option<&Expr> {
    match &e.kind {
        ExprKind::Unary(Unary::Address, a) => Some(a),
        ExprKind::Cast(_, a) => address_operand(a),
        _ => None,
    }
}

/// The indices on the way to a part of a variable.
fn note_path(e: &Expr, all: &mut Addresses) {
    match &e.kind {
        ExprKind::Ident(_) => {}
        ExprKind::Member(a, _) => note_path(a, all),
        ExprKind::Index(a, i) => {
            note_path(a, all);
            note_addresses(i, all);
        }
        _ => note_addresses(e, all),
    }
}

/// Names that occur in a file.
#[derive(Default)]
pub(super) struct Names {
    /// Variables under `&`.
    pub(super) addressed: HashSet<String>,
    /// All names that stand in expressions.
    pub(super) mentioned: HashSet<String>,
    /// Those that stand elsewhere than as the function of a call or of a thread: of
    /// functions, those that a pointer may hold.
    pub(super) values: HashSet<String>,
    /// Members behind `.` and `->`.
    pub(super) members: HashSet<String>,
}

/// The function that a call of the library starts or calls, if it is named there: its
/// address goes nowhere else.
fn started_function<'e>(name: &str, args: &'e [Expr]) -> Option<&'e str> {
    let at = match name {
        "pthread_create" => 2,
        "thrd_create" | "pthread_once" | "call_once" => 1,
        _ if super::openmp::starts(name) => 0,
        _ => return None,
    };
    let mut e = args.get(at)?;
    while let ExprKind::Cast(_, inner) | ExprKind::Unary(Unary::Address, inner) = &e.kind {
        e = inner;
    }
    match &e.kind {
        ExprKind::Ident(name) => Some(name),
        _ => None,
    }
}

fn defines(file: &File, name: &str) -> bool {
    let is_it = |item: &Item| matches!(item, Item::Function(f) if f.name == name);
    file.items.iter().any(is_it)
}

/// The names that occur in the expressions of a file.
pub(super) fn file_names(file: &File) -> Names {
    let mut names = Names::default();
    // Mentions that are calls are taken away from all mentions.
    let mut counts: HashMap<String, i64> = HashMap::new();
    let mut look = |e: &Expr| match &e.kind {
        ExprKind::Member(_, name) | ExprKind::Arrow(_, name) => {
            names.members.insert(name.clone());
        }
        ExprKind::Unary(Unary::Address, a) => {
            names.addressed.extend(root(a).map(str::to_owned));
        }
        ExprKind::Ident(name) => {
            names.mentioned.insert(name.clone());
            *counts.entry(name.clone()).or_default() += 1;
        }
        ExprKind::Call(callee, args) => {
            if let ExprKind::Ident(name) = &callee.kind {
                *counts.entry(name.clone()).or_default() -= 1;
                let started = started_function(name, args).filter(|_| !defines(file, name));
                if let Some(function) = started {
                    *counts.entry(function.to_owned()).or_default() -= 1;
                }
            }
        }
        ExprKind::Int(..) | ExprKind::Float(_) | ExprKind::Str(_) | ExprKind::Unary(..) => {}
        ExprKind::Binary(..) | ExprKind::Assign(..) | ExprKind::Cond(..) => {}
        ExprKind::Index(..) | ExprKind::Cast(..) | ExprKind::Comma(..) => {}
        ExprKind::Statements(_) | ExprKind::Compound(..) | ExprKind::UnknownSize => {}
    };
    for item in &file.items {
        match item {
            Item::Function(f) => f.body.iter().for_each(|s| each_in_stmt(s, &mut look)),
            Item::Variable(Declaration {
                init: Some(init), ..
            }) => each_in_init(init, &mut look),
            Item::Variable(_) => {}
        }
    }
    let values = counts.into_iter().filter(|(_, n)| *n > 0);
    names.values = values.map(|(name, _)| name).collect();
    names
}

/// The labels of a function that a jump further down leads back to: what stands
/// behind them may run more than once.
pub(super) fn loop_labels(body: &[Stmt]) -> HashSet<String> {
    let (mut passed, mut loops) = (HashSet::new(), HashSet::new());
    for s in body {
        follow_jumps(s, &mut passed, &mut loops);
    }
    loops
}

/// Notes labels and jumps in the order of the text. Statement expressions are
/// looked at too, perhaps more than once: that finds more loops, never fewer.
fn follow_jumps(s: &Stmt, passed: &mut HashSet<String>, loops: &mut HashSet<String>) {
    each_stmt(s, &mut |s| {
        match &s.kind {
            StmtKind::Label(name, _) => {
                passed.insert(name.clone());
            }
            StmtKind::Goto(name) if passed.contains(name) => {
                loops.insert(name.clone());
            }
            StmtKind::Goto(_) | StmtKind::Empty | StmtKind::Expr(_) | StmtKind::Declare(_) => {}
            StmtKind::Block(_) | StmtKind::If(..) | StmtKind::While(..) => {}
            StmtKind::DoWhile(..) | StmtKind::For(..) | StmtKind::Switch(..) => {}
            StmtKind::Case(..) | StmtKind::Default(_) | StmtKind::Break => {}
            StmtKind::Continue
            | StmtKind::Return(_)
            | StmtKind::Asm(_)
            | StmtKind::Refused(_)
            | StmtKind::Gap => {}
        }
        each_top_expr(s, &mut |e| {
            each_expr(e, &mut |e| {
                if let ExprKind::Statements(inner) = &e.kind {
                    for s in inner {
                        follow_jumps(s, passed, loops);
                    }
                }
            });
        });
    });
}

/// The functions that may start or await threads or allocate memory, themselves or
/// through calls.
pub(super) fn thread_functions(functions: &HashMap<&str, &Function>) -> HashSet<String> {
    let names = [
        "pthread_create",
        "pthread_join",
        "thrd_create",
        "thrd_join",
        "__CPROVER_ASYNC",
        crate::c::openmp::PARALLEL,
        crate::c::openmp::TASK,
        crate::c::openmp::CLAIM,
        crate::c::openmp::OWNS,
        "malloc",
        "calloc",
        "aligned_alloc",
        "memalign",
        "posix_memalign",
    ];
    let mut found: HashSet<String> = names.map(str::to_owned).into();
    loop {
        let before = found.len();
        for (name, function) in functions {
            if function.body.iter().any(|s| calls(s, &found)) {
                found.insert((*name).to_owned());
            }
        }
        if found.len() == before {
            return found;
        }
    }
}

/// Whether a statement mentions one of these functions.
pub(super) fn calls(s: &Stmt, names: &HashSet<String>) -> bool {
    let mut found = false;
    each_in_stmt(s, &mut |e| {
        if let ExprKind::Ident(name) = &e.kind {
            found |= names.contains(name);
        }
    });
    found
}

/// Whether an expression mentions a variable at all.
pub(super) fn has_name(e: &Expr) -> bool {
    let mut found = false;
    each_expr(e, &mut |e| found |= matches!(e.kind, ExprKind::Ident(_)));
    found
}

/// The parts of a variable (`.a.b`, empty for the whole) that the statements assign
/// before they mention the variable in any other way.
pub(super) fn assigned_first(name: &str, rest: &[Stmt]) -> HashSet<String> {
    let mut parts = HashSet::new();
    for s in rest {
        let expr = match &s.kind {
            StmtKind::Expr(e) => Some(e),
            StmtKind::For(Some(init), ..) => match &init.kind {
                StmtKind::Expr(e) => Some(e),
                _ => None,
            },
            _ => None,
        };
        let target = expr.and_then(|e| match &e.kind {
            ExprKind::Assign(None, a, b) if !mentions(b, name) => path_of(a, name),
            _ => None,
        });
        if let Some(path) = target {
            parts.insert(path);
            if !matches!(s.kind, StmtKind::Expr(_)) {
                return parts;
            }
        } else {
            let mut found = is_entered(s);
            each_in_stmt(s, &mut |e| {
                found |= matches!(&e.kind, ExprKind::Ident(n) if n == name);
            });
            if found {
                return parts;
            }
        }
    }
    parts
}

fn mentions(e: &Expr, name: &str) -> bool {
    let mut found = false;
    each_expr(e, &mut |e| {
        found |= matches!(&e.kind, ExprKind::Ident(n) if n == name);
    });
    found
}

fn path_of(e: &Expr, name: &str) -> Option<String> {
    match &e.kind {
        ExprKind::Ident(n) if n == name => Some(String::new()),
        ExprKind::Member(a, field) => Some(format!("{}.{field}", path_of(a, name)?)),
        _ => None,
    }
}

/// Whether some `pthread_join` asks for the thread's result.
pub(super) fn uses_results(file: &File) -> bool {
    let mut found = false;
    for item in &file.items {
        let Item::Function(f) = item else { continue };
        for s in &f.body {
            each_in_stmt(s, &mut |e| {
                if let ExprKind::Call(callee, args) = &e.kind
                    && matches!(&callee.kind, ExprKind::Ident(n) if awaits_thread(n))
                    && let Some(result) = args.get(1)
                {
                    found |= crate::c::parser::constant(result) != Some(0);
                }
            });
        }
    }
    found
}
