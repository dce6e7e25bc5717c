//! *Declarations*: constants, shared variables with their sizes, domains, initial
//! values and homes, and the list of threads. Everything here is known before the
//! first statement is looked at, so the order of declarations does not matter
//! (except among constants).

use palisade_program::{
    Count, Domain, Expr as Value, Global, GlobalId, Home, Init, Role, Span, TemplateId,
};

use super::{Context, functions_of};
use crate::diagnostic::Diagnostic;
use crate::pal::ast::{
    Copies, Decl, DeclInit, Expr, ExprKind, File, Item, Name, Stmt, StmtKind, Unit,
};

/// Largest array.
const MAX_LEN: i64 = 1 << 16;
/// Most cells of shared memory in all.
const MAX_CELLS: usize = 1 << 20;
/// Most copies of a thread.
const MAX_COPIES: i64 = 1 << 12;

/// A `const`.
pub(super) struct Constant {
    pub(super) value: i64,
    span: Span,
}

/// A thread or process before its code is lowered.
pub(super) struct UnitInfo<'a> {
    pub(super) ast: &'a Unit,
    pub(super) count: Count,
    /// Its own shared variables (processes only).
    pub(super) variables: std::collections::HashMap<String, GlobalId>,
}

impl<'a> Context<'a> {
    pub(super) fn declare(&mut self, file: &'a File) {
        for item in &file.items {
            match item {
                Item::Const { name, value } => self.declare_constant(name, value),
                Item::Shared(_) | Item::Function(_) | Item::Unit(_) => {}
                Item::Property(_) | Item::Predicate { .. } | Item::Reach { .. } => {}
            }
        }
        for item in &file.items {
            match item {
                Item::Shared(decls) => decls.iter().for_each(|d| self.declare_shared(d)),
                Item::Unit(unit) => self.declare_unit(unit),
                Item::Const { .. } | Item::Function(_) => {}
                Item::Property(_) | Item::Predicate { .. } | Item::Reach { .. } => {}
            }
        }
        for function in functions_of(file) {
            if let Some(first) = self.functions.get(&function.name.text) {
                let first = first.name.span;
                self.declared_twice("function", &function.name, first);
            } else {
                self.functions.insert(function.name.text.clone(), function);
            }
        }
        self.check_kinds_of_units();
        self.qualify_names();
    }

    fn declared_twice(&mut self, what: &str, name: &Name, _first: Span) {
        let message = format!("{what} `{}` is declared twice", name.text);
        self.report(
            Diagnostic::error(name.span, message)
                .label("declared again here")
                .help("rename one of the two"),
        );
    }

    fn declare_constant(&mut self, name: &Name, value: &Expr) {
        let value = self.constant(value).unwrap_or(0);
        if let Some(first) = self.constants.get(&name.text) {
            let first = first.span;
            self.declared_twice("constant", name, first);
        } else {
            let span = name.span;
            self.constants
                .insert(name.text.clone(), Constant { value, span });
        }
    }

    fn declare_shared(&mut self, decl: &Decl) {
        if self.name_is_taken(&decl.name) {
            return;
        }
        let id = self.add_global(decl, None, None);
        self.global_names.insert(decl.name.text.clone(), id);
    }

    fn name_is_taken(&mut self, name: &Name) -> bool {
        let first = self.constants.get(&name.text).map(|c| c.span).or_else(|| {
            let id = self.global_names.get(&name.text)?;
            Some(self.globals[id.index()].span)
        });
        if let Some(first) = first {
            self.declared_twice("variable", name, first);
        }
        first.is_some()
    }

    fn declare_unit(&mut self, unit: &'a Unit) {
        let number = self.units.len();
        if let Some(first) = self.unit_names.get(&unit.name.text) {
            let first = self.units[*first].ast.name.span;
            self.declared_twice("thread", &unit.name, first);
        } else {
            self.unit_names.insert(unit.name.text.clone(), number);
        }
        let count = self.copies(&unit.count);
        if unit.is_process && count == Count::Any {
            self.report(
                Diagnostic::error(unit.span, "a process cannot run in any number of copies")
                    .label("`[*]` is for threads")
                    .help("give the number of copies, for instance `[2]`"),
            );
        }
        self.units.push(UnitInfo {
            ast: unit,
            count,
            variables: std::collections::HashMap::new(),
        });
        for stmt in &unit.body {
            if let StmtKind::Shared(decls) = &stmt.kind {
                self.declare_in_unit(number, decls, stmt);
            }
        }
    }

    fn copies(&mut self, copies: &Copies) -> Count {
        match copies {
            Copies::Once => Count::Once,
            Copies::Any => Count::Any,
            Copies::Fixed(expr) => match self.constant(expr) {
                Some(n @ 1..=MAX_COPIES) => Count::Fixed(n as u32),
                Some(n) => {
                    self.report(
                        Diagnostic::error(expr.span, format!("{n} copies of a thread"))
                            .label(format!("expected 1 to {MAX_COPIES}"))
                            .help("write `[*]` for any number of copies"),
                    );
                    Count::Once
                }
                None => Count::Once,
            },
        }
    }

    fn declare_in_unit(&mut self, unit: usize, decls: &[Decl], stmt: &Stmt) {
        let info = &self.units[unit];
        let count = info.count;
        if !info.ast.is_process {
            self.report(
                Diagnostic::error(stmt.span, "a thread cannot own shared variables")
                    .label("declared inside a thread")
                    .help("move it to the top of the file, or use `local`"),
            );
            return;
        }
        for decl in decls {
            if self.units[unit].variables.contains_key(&decl.name.text) {
                self.declared_twice("variable", &decl.name, decl.name.span);
                continue;
            }
            if self.name_is_taken(&decl.name) {
                continue;
            }
            let home = Home {
                template: TemplateId::from(unit),
                per_copy: count != Count::Once,
            };
            let copies = match count {
                Count::Fixed(n) => Some(n),
                Count::Once | Count::Any => None,
            };
            let id = self.add_global(decl, Some(home), copies);
            self.units[unit]
                .variables
                .insert(decl.name.text.clone(), id);
        }
    }

    fn add_global(&mut self, decl: &Decl, home: Option<Home>, copies: Option<u32>) -> GlobalId {
        let len = self.array_len(decl, copies);
        let len = self.fits_memory(decl, len);
        let domain = self.domain(decl);
        let cells = len.map_or(1, |n| n as usize);
        let init = self.initial_values(decl, cells, len.is_some(), domain);
        self.globals.push(Global {
            name: decl.name.text.clone(),
            len,
            init,
            domain,
            role: role(decl),
            home,
            span: decl.name.span,
        });
        self.used_globals.push(false);
        GlobalId::from(self.globals.len() - 1)
    }

    /// The length, or a small one if memory would grow beyond the limit.
    fn fits_memory(&mut self, decl: &Decl, len: Option<u32>) -> Option<u32> {
        let cells = len.map_or(1, |n| n as usize);
        if self.cell_count + cells <= MAX_CELLS {
            self.cell_count += cells;
            return len;
        }
        self.report(
            Diagnostic::error(decl.span, "the program has too much shared memory")
                .label(format!("more than {MAX_CELLS} cells in all"))
                .help("make the arrays smaller"),
        );
        len.map(|_| 1)
    }

    fn array_len(&mut self, decl: &Decl, copies: Option<u32>) -> Option<u32> {
        let Some(len) = &decl.len else {
            return copies;
        };
        if copies.is_some() {
            self.report(
                Diagnostic::error(
                    len.span,
                    "an array in a process with copies is not supported",
                )
                .label("each copy would need an array of its own")
                .help("declare one variable per element"),
            );
            return copies;
        }
        Some(self.size(len, MAX_LEN))
    }

    /// The constant size of an array, at most `max`; 1 after an error.
    pub(super) fn size(&mut self, len: &Expr, max: i64) -> u32 {
        match self.constant(len) {
            Some(n) if (1..=max).contains(&n) => n as u32,
            Some(n) => {
                self.report(
                    Diagnostic::error(len.span, format!("an array of {n} elements"))
                        .label(format!("expected 1 to {max}"))
                        .help("give the array another size"),
                );
                1
            }
            None => 1,
        }
    }

    /// The declared range of values.
    pub(super) fn domain(&mut self, decl: &Decl) -> Option<Domain> {
        let Some((lo, hi)) = &decl.domain else {
            if decl.control {
                self.report(
                    Diagnostic::error(decl.span, "a control variable needs a range")
                        .label("no range")
                        .help(format!("write `control {} in 0..3`", decl.name.text)),
                );
            }
            return None;
        };
        self.interval(lo, hi)
    }

    /// The values from `lo` to `hi`.
    pub(super) fn interval(&mut self, lo: &Expr, hi: &Expr) -> Option<Domain> {
        let span = lo.span.to(hi.span);
        let (lo, hi) = (self.constant(lo)?, self.constant(hi)?);
        if lo > hi {
            self.report(
                Diagnostic::error(span, "empty range")
                    .label(format!("{lo} is above {hi}"))
                    .help("write the least value first; both ends belong to the range"),
            );
            return None;
        }
        Some(Domain { lo, hi })
    }

    /// Initial values of `cells` cells.
    fn initial_values(
        &mut self,
        decl: &Decl,
        cells: usize,
        is_array: bool,
        domain: Option<Domain>,
    ) -> Vec<Init> {
        match &decl.init {
            DeclInit::None => {
                let init = self.initial_in_domain(0, domain, decl.name.span);
                vec![init; cells]
            }
            DeclInit::Value(value) => {
                let init = self.initial_value(value, domain);
                vec![init; cells]
            }
            DeclInit::List(values, span) => {
                let mut init: Vec<Init> = values
                    .iter()
                    .map(|value| self.initial_value(value, domain))
                    .collect();
                if !is_array {
                    self.report(
                        Diagnostic::error(*span, "a list of values for a single variable")
                            .label(
                                "only arrays (and variables of processes with copies) take a list",
                            )
                            .help(format!("declare `{}[{}]`", decl.name.text, init.len())),
                    );
                } else if init.len() != cells {
                    let found = init.len();
                    self.report(
                        Diagnostic::error(*span, "wrong number of initial values")
                            .label(format!("expected {cells}, found {found}"))
                            .help("give one value per element, or one value for all"),
                    );
                }
                init.resize(cells, Init::Value(0));
                init
            }
        }
    }

    /// The initial value that `value` stands for.
    pub(super) fn initial_value(&mut self, value: &Expr, domain: Option<Domain>) -> Init {
        if matches!(value.kind, ExprKind::Any) {
            return Init::Any;
        }
        let Some(number) = self.constant(value) else {
            return Init::Value(0);
        };
        self.initial_in_domain(number, domain, value.span)
    }

    fn initial_in_domain(&mut self, number: i64, domain: Option<Domain>, span: Span) -> Init {
        if let Some(d) = domain
            && !d.contains(number)
        {
            self.report(
                Diagnostic::error(span, "the initial value is outside the declared range")
                    .label(format!("{number} is not in {}..{}", d.lo, d.hi))
                    .help(format!(
                        "start with a value of the range, such as `= {}`",
                        d.lo
                    )),
            );
        }
        Init::Value(number)
    }

    /// The value of a constant expression; an error if it is none.
    pub(super) fn constant(&mut self, expr: &Expr) -> Option<i64> {
        let value = self.fold(expr)?;
        let result = value.eval(&|never: &std::convert::Infallible| match *never {});
        if result.is_err() {
            self.report(
                Diagnostic::error(expr.span, "the constant has no value")
                    .label("overflows 64 bits, or divides by zero")
                    .help("constants are 64-bit integers"),
            );
        }
        result.ok()
    }

    fn fold(&mut self, expr: &Expr) -> Option<Value<std::convert::Infallible>> {
        Some(match &expr.kind {
            ExprKind::Int(value) => Value::Const(*value),
            ExprKind::Place(place) if place.index.is_none() => {
                if let Some(constant) = self.constants.get(&place.name.text) {
                    return Some(Value::Const(constant.value));
                }
                let names = self.candidates(|c| c.constants.keys().cloned().collect());
                let help = "use a number or the name of a `const`";
                let known = names.iter().map(String::as_str);
                let message = format!("expected a constant, found `{}`", place.name.text);
                self.unknown(message, &place.name, known, help);
                return None;
            }
            ExprKind::Unary(op, arg) => Value::unary(*op, self.fold(arg)?),
            ExprKind::Binary(op, a, b) => {
                let (a, b) = (self.fold(a)?, self.fold(b)?);
                Value::binary(*op, a, b)
            }
            ExprKind::Cond(c, a, b) => {
                let (c, a, b) = (self.fold(c)?, self.fold(a)?, self.fold(b)?);
                Value::Cond(Box::new(c), Box::new(a), Box::new(b))
            }
            ExprKind::SelfId | ExprKind::Any | ExprKind::Place(_) | ExprKind::Call(..) => {
                self.not_constant(expr);
                return None;
            }
            ExprKind::Choose(_) | ExprKind::ChooseRange(..) => {
                self.not_constant(expr);
                return None;
            }
            ExprKind::At(..) | ExprKind::Field(..) => {
                self.not_constant(expr);
                return None;
            }
        })
    }

    fn not_constant(&mut self, expr: &Expr) {
        self.report(
            Diagnostic::error(expr.span, "expected a constant")
                .label("its value is not known before the program runs")
                .help("use a number or a `const`"),
        );
    }

    /// Threads and processes do not mix, and with processes every shared variable
    /// has a home.
    fn check_kinds_of_units(&mut self) {
        if self.units.is_empty() && !self.has_syntax_errors && self.error_count == 0 {
            self.report(
                Diagnostic::error(Span::default(), "the program has no thread")
                    .label("nothing runs")
                    .help("add `thread name { ... }`"),
            );
        }
        if !self.units.iter().any(|u| u.ast.is_process) {
            return;
        }
        let threads: Vec<Span> = self
            .units
            .iter()
            .filter(|u| !u.ast.is_process)
            .map(|u| u.ast.span)
            .collect();
        for span in threads {
            self.report(
                Diagnostic::error(span, "a thread in a program with processes")
                    .label("threads and processes do not mix")
                    .help("make it a `process`, or make the processes threads"),
            );
        }
        let homeless: Vec<Span> = self
            .globals
            .iter()
            .filter(|g| g.home.is_none())
            .map(|g| g.span)
            .collect();
        for span in homeless {
            self.report(
                Diagnostic::error(span, "a shared variable outside any process")
                    .label("in a program with processes every variable lives in one")
                    .help("move the declaration into a process"),
            );
        }
    }

    /// Variables of several processes with one name are called `p.X` in reports.
    fn qualify_names(&mut self) {
        let mut count = std::collections::HashMap::<String, u32>::new();
        for global in &self.globals {
            *count.entry(global.name.clone()).or_default() += 1;
        }
        for global in &mut self.globals {
            if let Some(home) = global.home
                && count[&global.name] > 1
            {
                let unit = &self.units[home.template.index()].ast.name.text;
                global.name = format!("{unit}.{}", global.name);
            }
        }
    }
}

/// Whether a variable is declared as control.
pub(super) fn role(decl: &Decl) -> Role {
    if decl.control {
        Role::Control
    } else {
        Role::Data
    }
}
