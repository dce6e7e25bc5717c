//! A program as *sequential C* [Abdulla et al., SAS 2012, section 8]: what the reductions of the memory
//! models make of a program can be given to any checker of C. One function for each thread takes
//! one step of it, at the location that `s.pc` says; `main` chooses a thread again and again and
//! looks at the properties between steps. This is the program under SC: steps are atomic here,
//! since nobody else runs.
//!
//! | program | C |
//! |---|---|
//! | cells, locals, locations | fields of the one `struct state` |
//! | several edges, `*` | `choose(n)`, `any()`: values that the checker chooses |
//! | `assume` | `assume`: the run counts only if it holds |
//! | `assert`, `never`, `finally` | `check` |
//! | an atomic block | its steps behind labels, with `goto` |
//!
//! Integers are `long long`; those of the language have no bounds, so a checker should look for
//! signed overflow as well. With `RANDOM_RUNS` defined the text is a program that makes so many
//! random runs: a step whose `assume` fails is taken back.
//!
//! Refused: what has no meaning under SC (remote operations, orders), sets of values (they are
//! no variables), and numbers of 64 bits that wrap around.

use std::collections::BTreeMap;
use std::fmt::Write;

use palisade_program::cfg::{AssertKind, Cfg, Place, Step};
use palisade_program::{
    BinOp, Cell, Domain, EdgeId, Expr, Init, Instance, LocId, LocalAtom, LocalExpr, LocalId, Pick,
    Program, PropAtom, Property, PropertyKind, Role, ThreadVar, UnOp,
};

/// What C cannot say of a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unprintable(String);

impl std::fmt::Display for Unprintable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unprintable {}

fn no<T>(what: &str) -> Result<T, Unprintable> {
    Err(Unprintable(what.to_owned()))
}

/// What every text begins with.
const PRELUDE: &str = "\
typedef long long num;
#define HELPER static __attribute__((unused))

#if defined(RANDOM_RUNS)
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
static jmp_buf refused;
static unsigned long long seed = 88172645463325252ULL;
HELPER num any(void) {
    seed ^= seed << 13; seed ^= seed >> 7; seed ^= seed << 17;
    return (num)(seed >> 33) % 9 - 4;
}
HELPER void assume(int c) { if (!c) longjmp(refused, 1); }
HELPER void check(int c, const char *what) { if (!c) { puts(what); exit(1); } }
HELPER num choose(num n) {
    any();
    return (num)(seed >> 33) % n;
}
#else
#if defined(__CPROVER__)
num nondet_longlong(void);
HELPER num any(void) { return nondet_longlong(); }
HELPER void assume(int c) { __CPROVER_assume(c); }
#define check(c, what) __CPROVER_assert(c, what)
#else
extern long long __VERIFIER_nondet_longlong(void);
extern void abort(void);
extern void reach_error(void);
HELPER num any(void) { return __VERIFIER_nondet_longlong(); }
HELPER void assume(int c) { if (!c) abort(); }
HELPER void check(int c, const char *what) { if (!c) { (void)what; reach_error(); abort(); } }
#endif
HELPER num choose(num n) {
    num c = any();
    assume(0 <= c && c < n);
    return c;
}
#endif

/* Euclidean, as in the language. */
HELPER num quotient(num a, num b) {
    num q = a / b;
    return a % b < 0 ? (b > 0 ? q - 1 : q + 1) : q;
}
HELPER num rest(num a, num b) {
    num r = a % b;
    return r < 0 ? (b > 0 ? r + b : r - b) : r;
}
HELPER num wrap(num a, int bits, int is_signed) {
    num m = (num)1 << bits, r = rest(a, m);
    return is_signed && r >= m / 2 ? r - m : r;
}
";

/// The text of a program with `copies` of each template that runs in any number.
///
/// # Errors
/// What C cannot say of it.
pub fn print(program: &Program, copies: u32) -> Result<String, Unprintable> {
    let instances = program.instances(copies);
    if instances.is_empty() {
        return no("a program without threads");
    }
    let printer = Printer { program, instances };
    let mut out = PRELUDE.to_owned();
    printer.declarations(&mut out)?;
    for thread in 0..printer.instances.len() {
        printer.thread(&mut out, thread)?;
    }
    printer.properties(&mut out)?;
    printer.main(&mut out);
    Ok(out)
}

struct Printer<'p> {
    program: &'p Program,
    instances: Vec<Instance>,
}

/// Letters and digits.
fn plain(name: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    name.chars().map(letter).collect()
}

/// A string of C.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push(' '),
            c if c.is_ascii() => out.push(c),
            _ => out.push('?'),
        }
    }
    out.push('"');
    out
}

fn constant(value: i64) -> String {
    match value {
        i64::MIN => "(-9223372036854775807LL - 1)".to_owned(),
        v if v < 0 => format!("({v}LL)"),
        v => format!("{v}LL"),
    }
}

impl Printer<'_> {
    fn cell(&self, cell: Cell) -> String {
        let (var, element) = self.program.variable_of(cell);
        format!("{}[{element}]", self.global(var.index()))
    }

    fn global(&self, var: usize) -> String {
        format!("s.g{var}_{}", plain(&self.program.globals[var].name))
    }

    fn local(&self, thread: usize, local: LocalId) -> String {
        let template = self.program.template(self.instances[thread].template);
        let name = plain(&template.locals[local.index()].name);
        format!("s.t{thread}_{}_{name}", local.index())
    }

    /// The name of a thread's function.
    fn name(&self, thread: usize) -> String {
        let name = self.program.instance_name(self.instances[thread]);
        format!("thread{thread}_{}", plain(&name))
    }

    fn cfg(&self, thread: usize) -> &Cfg {
        &self.program.template(self.instances[thread].template).cfg
    }

    fn declarations(&self, out: &mut String) -> Result<(), Unprintable> {
        out.push_str("\nstatic struct state {\n");
        let mut start = String::new();
        for (var, global) in self.program.globals.iter().enumerate() {
            if matches!(global.role, Role::Set(_)) {
                return no("a set of values, which is no variable");
            }
            let name = self.global(var);
            // Writing to a string does not fail.
            let field = name.trim_start_matches("s.");
            let _ = writeln!(out, "    num {field}[{}];", global.cell_count());
        }
        for (index, init) in self.program.initial_cells().into_iter().enumerate() {
            let cell = Cell::from(index);
            let domain = self.program.global(self.program.variable_of(cell).0).domain;
            start.push_str(&initial(&self.cell(cell), init, domain));
        }
        for (thread, instance) in self.instances.iter().enumerate() {
            let locals = &self.program.template(instance.template).locals;
            for (index, local) in locals.iter().enumerate() {
                let name = self.local(thread, LocalId::from(index));
                let _ = writeln!(out, "    num {};", name.trim_start_matches("s."));
                start.push_str(&initial(&name, local.init, local.domain));
            }
            let entry = self.cfg(thread).entry.0;
            let _ = writeln!(start, "    s.pc[{thread}] = {entry};");
        }
        let count = self.instances.len();
        let _ = write!(out, "    int pc[{count}];\n}} s;\n\n");
        let _ = write!(out, "static void start(void) {{\n{start}}}\n");
        Ok(())
    }

    fn thread(&self, out: &mut String, thread: usize) -> Result<(), Unprintable> {
        let cfg = self.cfg(thread);
        let name = self.name(thread);
        let _ = write!(
            out,
            "\nstatic void {name}(void) {{\n    switch (s.pc[{thread}]) {{\n"
        );
        for loc in cfg.locs() {
            let edges: Vec<EdgeId> = cfg.outgoing(loc).map(|(id, _)| id).collect();
            if edges.is_empty() {
                continue;
            }
            let _ = write!(out, "    case {}:\n        ", loc.0);
            let _ = writeln!(out, "switch (choose({})) {{", edges.len());
            for (number, id) in edges.into_iter().enumerate() {
                let edge = cfg.edge(id);
                let _ = writeln!(out, "        case {number}:");
                self.step(out, thread, id, &edge.step)?;
                let to = edge.to.0;
                let _ = writeln!(out, "            s.pc[{thread}] = {to}; return;");
            }
            out.push_str("        }\n        return;\n");
        }
        out.push_str("    default: assume(0);\n    }\n}\n");
        Ok(())
    }

    fn step(
        &self,
        out: &mut String,
        thread: usize,
        id: EdgeId,
        step: &Step,
    ) -> Result<(), Unprintable> {
        let Step::Atomic(atomic) = step else {
            let text = self.plain_step(thread, step)?;
            let _ = writeln!(out, "            {text}");
            return Ok(());
        };
        let body = &atomic.body;
        let label = |loc: LocId| format!("e{}_{}", id.0, loc.0);
        let _ = writeln!(out, "            goto {};", label(body.entry));
        for loc in body.locs().filter(|loc| *loc != body.exit) {
            let edges: Vec<_> = body.outgoing(loc).map(|(_, edge)| edge).collect();
            let _ = writeln!(out, "        {}:", label(loc));
            if edges.is_empty() {
                let _ = writeln!(out, "            assume(0); return;");
                continue;
            }
            let _ = writeln!(out, "            switch (choose({})) {{", edges.len());
            for (number, edge) in edges.into_iter().enumerate() {
                let text = self.plain_step(thread, &edge.step)?;
                let next = label(edge.to);
                let _ = writeln!(out, "            case {number}: {text} goto {next};");
            }
            let _ = writeln!(out, "            }}\n            return;");
        }
        let _ = writeln!(out, "        {}:", label(body.exit));
        Ok(())
    }

    /// A step that is no atomic block.
    fn plain_step(&self, thread: usize, step: &Step) -> Result<String, Unprintable> {
        let expr = |e: &LocalExpr| self.local_expr(thread, e);
        Ok(match step {
            Step::Skip => ";".to_owned(),
            Step::Assume(cond) => format!("assume({} != 0);", expr(cond)?),
            Step::Assign { dst, value } => {
                format!("{} = {};", self.local(thread, *dst), expr(value)?)
            }
            Step::Havoc { dst, domain } => {
                let dst = self.local(thread, *dst);
                format!("{dst} = any(); {}", within(&dst, *domain))
            }
            Step::Load { dst, src } => {
                format!(
                    "{} = {};",
                    self.local(thread, *dst),
                    self.place(thread, src)?
                )
            }
            Step::Store { dst, value } => {
                format!("{} = {};", self.place(thread, dst)?, expr(value)?)
            }
            // Under SC fences do nothing.
            Step::Fence(_) => ";".to_owned(),
            Step::Assert {
                kind: AssertKind::Unsupported(what),
                ..
            } => return no(what),
            Step::Assert { cond, kind } => {
                let what = kind.failure("");
                let what = what.trim_end_matches([':', ' ']);
                format!("check({} != 0, {});", expr(cond)?, quoted(what))
            }
            Step::Put { .. } | Step::Get { .. } | Step::RemoteAtomic(_) | Step::Flush(_) => {
                return no("a remote operation; reduce the program under rma");
            }
            Step::Atomic(_) => return no("an atomic block inside of one"),
        })
    }

    fn place(&self, thread: usize, place: &Place) -> Result<String, Unprintable> {
        let array = self.global(place.var.index());
        let index = match &place.index {
            Some(index) => self.local_expr(thread, index)?,
            None => "0".to_owned(),
        };
        Ok(format!("{array}[{index}]"))
    }

    fn local_expr(&self, thread: usize, expr: &LocalExpr) -> Result<String, Unprintable> {
        expression(expr, &|atom| match atom {
            LocalAtom::Local(local) => self.local(thread, *local),
            LocalAtom::SelfId => constant(i64::from(self.instances[thread].copy)),
        })
    }

    /// The properties, with their threads chosen in all ways.
    fn properties(&self, out: &mut String) -> Result<(), Unprintable> {
        out.push_str("\nstatic void properties(void) {\n");
        let ended = (0..self.instances.len()).map(|thread| {
            let exit = self.cfg(thread).exit.0;
            format!("s.pc[{thread}] == {exit}")
        });
        let ended: Vec<String> = ended.collect();
        for property in &self.program.properties {
            let shown = quoted(&self.program.show_property(property));
            for threads in self.choices(&property.threads) {
                let cond = self.property(property, &threads)?;
                let _ = match property.kind {
                    PropertyKind::Never => {
                        writeln!(out, "    check(!({cond} != 0), {shown});")
                    }
                    PropertyKind::Finally => {
                        let ended = ended.join(" && ");
                        writeln!(out, "    if ({ended}) check({cond} != 0, {shown});")
                    }
                };
            }
        }
        out.push_str("}\n");
        Ok(())
    }

    fn property(&self, property: &Property, threads: &[usize]) -> Result<String, Unprintable> {
        expression(&property.cond, &|atom| match atom {
            PropAtom::Global(var, element) => {
                self.cell(self.program.cell(*var, element.unwrap_or(0)))
            }
            PropAtom::Local(var, local) => self.local(threads[var.index()], *local),
            PropAtom::SelfOf(var) => constant(i64::from(self.instances[threads[var.index()]].copy)),
            PropAtom::At(var, loc) => {
                format!("(num)(s.pc[{}] == {})", threads[var.index()], loc.0)
            }
        })
    }

    /// All ways to choose a property's threads: different copies for different variables.
    fn choices(&self, vars: &[ThreadVar]) -> Vec<Vec<usize>> {
        let mut all: Vec<Vec<usize>> = vec![Vec::new()];
        for var in vars {
            let fits = |thread: &usize| {
                let instance = self.instances[*thread];
                instance.template == var.template
                    && match var.pick {
                        Pick::Only | Pick::Any(_) => true,
                        Pick::Copy(copy) => instance.copy == copy,
                    }
            };
            let with = |chosen: &Vec<usize>| -> Vec<Vec<usize>> {
                let mut known: BTreeMap<u32, usize> = BTreeMap::new();
                for (before, thread) in vars.iter().zip(chosen) {
                    if let (Pick::Any(number), true) =
                        (before.pick, before.template == var.template)
                    {
                        known.insert(number, *thread);
                    }
                }
                let is_free = |thread: &usize| match var.pick {
                    Pick::Any(number) => match known.get(&number) {
                        Some(same) => same == thread,
                        None => !known.values().any(|other| other == thread),
                    },
                    Pick::Only | Pick::Copy(_) => true,
                };
                let threads = (0..self.instances.len()).filter(fits).filter(is_free);
                let next = threads.map(|t| chosen.iter().copied().chain([t]).collect());
                next.collect()
            };
            all = all.iter().flat_map(with).collect();
        }
        all
    }

    fn main(&self, out: &mut String) {
        let count = self.instances.len();
        let _ = writeln!(
            out,
            "\nstatic void step(void) {{\n    switch (choose({count})) {{"
        );
        for thread in 0..count {
            let name = self.name(thread);
            let _ = writeln!(out, "    case {thread}: {name}(); break;");
        }
        out.push_str(
            "    }
}

#if defined(RANDOM_RUNS)
#if !defined(RANDOM_STEPS)
#define RANDOM_STEPS 400
#endif
int main(void) {
    static struct state before;
    for (long run = 0; run < RANDOM_RUNS; run++) {
        if (setjmp(refused)) continue;
        start();
        properties();
        for (volatile long k = 0; k < RANDOM_STEPS; k++) {
            before = s;
            if (setjmp(refused)) s = before;
            else step();
            properties();
        }
    }
    return 0;
}
#else
int main(void) {
    start();
    properties();
    for (;;) {
        step();
        properties();
    }
}
#endif
",
        );
    }
}

/// An assignment of a first value.
fn initial(name: &str, init: Init, domain: Option<Domain>) -> String {
    match init {
        Init::Value(value) => format!("    {name} = {};\n", constant(value)),
        Init::Any => format!("    {name} = any(); {}\n", within(name, domain)),
    }
}

fn within(name: &str, domain: Option<Domain>) -> String {
    domain.map_or_else(String::new, |Domain { lo, hi }| {
        format!(
            "assume({} <= {name} && {name} <= {});",
            constant(lo),
            constant(hi)
        )
    })
}

fn expression<A>(expr: &Expr<A>, atom: &dyn Fn(&A) -> String) -> Result<String, Unprintable> {
    let part = |e: &Expr<A>| expression(e, atom);
    Ok(match expr {
        Expr::Const(value) => constant(*value),
        Expr::Atom(a) => atom(a),
        Expr::Unary(UnOp::Neg, e) => format!("(-{})", part(e)?),
        Expr::Unary(UnOp::Not, e) => format!("(num)(!{})", part(e)?),
        Expr::Unary(UnOp::BitNot, e) => format!("(~{})", part(e)?),
        Expr::Unary(UnOp::Wrap { bits: 64, .. }, _) => {
            return no("a number of 64 bits that wraps around");
        }
        Expr::Unary(UnOp::Wrap { bits, signed }, e) => {
            format!("wrap({}, {bits}, {})", part(e)?, i32::from(*signed))
        }
        Expr::Binary(op, a, b) => {
            let (a, b) = (part(a)?, part(b)?);
            let operator = match op {
                BinOp::Div => return Ok(format!("quotient({a}, {b})")),
                BinOp::Mod => return Ok(format!("rest({a}, {b})")),
                BinOp::Shl => return Ok(format!("({a} * ((num)1 << {b}))")),
                BinOp::Add => "+",
                BinOp::Sub => "-",
                BinOp::Mul => "*",
                BinOp::Eq => "==",
                BinOp::Ne => "!=",
                BinOp::Lt => "<",
                BinOp::Le => "<=",
                BinOp::Gt => ">",
                BinOp::Ge => ">=",
                BinOp::And => "&&",
                BinOp::Or => "||",
                BinOp::BitAnd => "&",
                BinOp::BitOr => "|",
                BinOp::BitXor => "^",
                BinOp::Shr => ">>",
            };
            format!("((num)({a} {operator} {b}))")
        }
        Expr::Cond(c, a, b) => format!("({} ? {} : {})", part(c)?, part(a)?, part(b)?),
    })
}
