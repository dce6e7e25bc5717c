//! One thread under construction: where we are in its graph, its locals, the
//! scopes of names, the labels, and the temporaries.
//!
//! A *frame* is the body of the thread or of an inlined function: names, labels
//! and loops of one frame are not seen in another. Locals of a function are
//! shared by all its calls in the thread: no two are active at once, since there
//! is no recursion. Temporaries (`$1`, `$2`, ...) live within one statement and
//! are reused by the next.

use std::collections::{HashMap, HashSet};

use palisade_program::{
    AssertKind, Count, Domain, Init, Label, Life, LocId, Local, LocalAtom, LocalExpr, LocalId,
    Origin, Role, Span, Step, Template,
};

use super::graph::Graph;
use super::jump::LabelInfo;
use super::loops::Loop;
use super::{Context, Finished, is_private, unused_variable};
use crate::diagnostic::Diagnostic;
use crate::pal::ast::{Name, Stmt};
use crate::range::{Range, range_of};

/// What a local name stands for.
#[derive(Clone, Debug)]
pub(super) enum Binding {
    Scalar(LocalId),
    Array(Vec<LocalId>),
}

/// The body of the thread, or of an inlined function.
pub(super) struct Frame {
    /// Empty for the thread, else the function's name.
    pub(super) function: String,
    pub(super) scopes: Vec<HashMap<String, Binding>>,
    /// The declaration that was last met and is still in scope: a node of
    /// `Code::declarations`.
    pub(super) declared: usize,
    pub(super) labels: HashMap<String, LabelInfo>,
    pub(super) loops: Vec<Loop>,
    /// Where `return` goes.
    pub(super) exit: LocId,
    /// Where `return e` puts its value.
    pub(super) result: Option<LocalId>,
    /// The atomic block of this frame that we are in: its start in the source, 0 outside.
    pub(super) region: u32,
    /// `Code::atomic_depth` when the frame was entered.
    pub(super) base_depth: u32,
}

/// One thread under construction.
pub(super) struct Code<'c, 'a> {
    pub(super) context: &'c mut Context<'a>,
    /// The thread, as an index into [`Context::units`]; none when an uncalled
    /// function is only checked.
    pub(super) unit: Option<usize>,
    pub(super) graph: Graph,
    /// Where the next step starts.
    pub(super) here: LocId,
    /// Nothing leads here; for warnings only.
    pub(super) dead: bool,
    pub(super) locals: Vec<Local>,
    /// Known ranges of locals.
    pub(super) ranges: Vec<Option<Range>>,
    used: Vec<bool>,
    arrays: HashMap<String, Vec<LocalId>>,
    by_name: HashMap<String, LocalId>,
    pub(super) frames: Vec<Frame>,
    /// Tree of declarations: the one in scope before each.
    pub(super) declarations: Vec<usize>,
    next_temporary: u32,
    /// How many atomic blocks we are inside of.
    pub(super) atomic_depth: u32,
    /// The outermost of them is an `atomic(read)`.
    pub(super) only_reads: bool,
    pub(super) labels: Vec<(Name, LocId)>,
    pub(super) hidden_labels: HashSet<String>,
    /// Assertions that have just been emitted, and the place behind them: the
    /// same check is not emitted twice in a row.
    just_asserted: (LocId, Vec<(LocalExpr, usize)>),
    /// Functions being inlined.
    pub(super) active: Vec<String>,
    /// A backward jump may lead before the place where we are.
    pub(super) label_seen: bool,
}

impl<'c, 'a> Code<'c, 'a> {
    pub(super) fn new(context: &'c mut Context<'a>, unit: Option<usize>) -> Self {
        let mut graph = Graph::default();
        let here = graph.loc();
        let next_temporary = context.first_temporary;
        Self {
            context,
            unit,
            graph,
            here,
            dead: false,
            locals: Vec::new(),
            ranges: Vec::new(),
            used: Vec::new(),
            arrays: HashMap::new(),
            by_name: HashMap::new(),
            frames: Vec::new(),
            declarations: vec![0],
            next_temporary,
            atomic_depth: 0,
            only_reads: false,
            labels: Vec::new(),
            hidden_labels: HashSet::new(),
            just_asserted: (here, Vec::new()),
            active: Vec::new(),
            label_seen: false,
        }
    }

    /// Lowers the body of the thread.
    pub(super) fn thread_body(&mut self, body: &[Stmt]) {
        let exit = self.graph.loc();
        self.push_frame("", exit, None, body);
        self.statements(body);
        self.graph.unify(self.here, exit);
        self.here = exit;
    }

    pub(super) fn push_frame(
        &mut self,
        function: &str,
        exit: LocId,
        result: Option<LocalId>,
        body: &[Stmt],
    ) {
        let labels = self.collect_labels(body);
        self.frames.push(Frame {
            function: function.to_owned(),
            scopes: vec![HashMap::new()],
            declared: 0,
            labels,
            loops: Vec::new(),
            exit,
            result,
            region: 0,
            base_depth: self.atomic_depth,
        });
    }

    pub(super) fn frame(&mut self) -> &mut Frame {
        self.frames
            .last_mut()
            .expect("a frame is pushed before code is lowered")
    }

    /// The finished thread. Its first location is where lowering began, its last
    /// where it stopped.
    pub(super) fn finish(mut self) -> Finished {
        let unit = self.unit.expect("only threads are finished");
        for (i, local) in self.locals.iter().enumerate() {
            if !self.used[i] && local.origin == Origin::User && local.name.contains(['[', '.']) {
                // Elements of arrays and locals of functions get no warning of their own.
                self.used[i] = true;
            }
        }
        let (cfg, numbers) = self.graph.finish(LocId(0), self.here);
        let mut labels = Vec::new();
        let mut unreachable = Vec::new();
        for (name, loc) in self.labels {
            match numbers[loc.index()] {
                Some(loc) => labels.push(Label {
                    name: name.text,
                    loc,
                    span: name.span,
                }),
                None => unreachable.push(name),
            }
        }
        labels.sort_by_key(|l| (l.loc, l.span));
        let info = &self.context.units[unit];
        let template = Template {
            name: info.ast.name.text.clone(),
            count: info.count,
            is_process: info.ast.is_process,
            locals: self.locals,
            cfg,
            labels,
            life: Life::default(),
            span: info.ast.span,
        };
        Finished {
            template,
            arrays: self.arrays,
            unreachable,
            hidden: self.hidden_labels,
            used: self.used,
        }
    }

    // Steps.

    /// Adds a step from here to a new place, and goes there.
    pub(super) fn emit(&mut self, step: Step, span: Span) {
        let next = self.graph.loc();
        self.graph.edge(self.here, step, next, span);
        self.here = next;
        if !self.active.is_empty() {
            self.context.inlined_steps += 1;
        }
    }

    /// Adds a check, unless it cannot fail or was just made.
    pub(super) fn emit_check(&mut self, cond: LocalExpr, kind: AssertKind, span: Span) {
        if self.just_asserted.0 == self.here && !self.graph.is_labelled(self.here) {
            let found = self.just_asserted.1.iter().find(|(c, _)| *c == cond);
            if let Some(&(_, edge)) = found {
                if let Step::Assert { kind: old, .. } = &mut self.graph.edge_mut(edge).step
                    && *old == AssertKind::User
                {
                    *old = kind;
                }
                return;
            }
        }
        self.emit_assert(cond, kind, span);
    }

    pub(super) fn emit_assert(&mut self, cond: LocalExpr, kind: AssertKind, span: Span) {
        let continues = self.just_asserted.0 == self.here;
        if !continues {
            self.just_asserted.1.clear();
        }
        // A handful is all that printed programs need.
        if self.just_asserted.1.len() >= 8 {
            self.just_asserted.1.remove(0);
        }
        let edge = self.graph.edge_count();
        self.just_asserted.1.push((cond.clone(), edge));
        self.emit(Step::Assert { cond, kind }, span);
        self.just_asserted.0 = self.here;
    }

    /// What was asserted before says nothing here: other paths lead here too.
    pub(super) fn forget_assertions(&mut self) {
        self.just_asserted.1.clear();
    }

    /// Sets the known range of a temporary; a user's local keeps its declared one.
    pub(super) fn set_range(&mut self, local: LocalId, range: Option<Range>) {
        if self.locals[local.index()].origin == Origin::Temporary {
            self.ranges[local.index()] = range;
        }
    }

    pub(super) fn report(&mut self, diagnostic: Diagnostic) {
        self.context.report(diagnostic);
    }

    // Locals.

    /// Runs `f`; the temporaries that it makes are free again afterwards.
    pub(super) fn with_temporaries<T>(&mut self, f: impl FnOnce(&mut Self) -> T) -> T {
        let first = self.next_temporary;
        let result = f(self);
        self.next_temporary = first;
        result
    }

    /// A temporary that is free until the end of the statement; its values lie in `range`.
    pub(super) fn temporary(&mut self, range: Option<Range>) -> LocalId {
        let name = format!("${}", self.next_temporary);
        self.next_temporary += 1;
        let id = match self.by_name.get(&name) {
            Some(id) => *id,
            None => self.add_local(Local {
                name,
                init: Init::Value(0),
                domain: None,
                role: Role::Data,
                origin: Origin::Temporary,
                span: Span::default(),
            }),
        };
        self.ranges[id.index()] = range;
        id
    }

    fn add_local(&mut self, local: Local) -> LocalId {
        let id = LocalId::from(self.locals.len());
        self.by_name.insert(local.name.clone(), id);
        self.ranges.push(local.domain.map(Range::from));
        self.used.push(false);
        self.locals.push(local);
        id
    }

    /// A local that the user declared, and whether it is new. Two declarations in
    /// scopes apart share one local if they agree.
    pub(super) fn user_local(
        &mut self,
        name: &Name,
        element: Option<u32>,
        domain: Option<Domain>,
        role: Role,
    ) -> (LocalId, bool) {
        let function = self.frame().function.clone();
        let mut full = match function.as_str() {
            "" => name.text.clone(),
            function => format!("{function}.{}", name.text),
        };
        if let Some(element) = element {
            full = format!("{full}[{element}]");
        }
        if let Some(&id) = self.by_name.get(&full) {
            let old = &self.locals[id.index()];
            if (old.domain, old.role) != (domain, role) {
                self.report(
                    Diagnostic::error(
                        name.span,
                        format!("`{}` was declared before with another range", name.text),
                    )
                    .label("declared again here")
                    .help("rename one of the two"),
                );
            }
            return (id, false);
        }
        let origin = if name.text.starts_with('$') {
            Origin::Temporary
        } else {
            Origin::User
        };
        let id = self.add_local(Local {
            name: full,
            init: Init::Value(0),
            domain,
            role,
            origin,
            span: name.span,
        });
        (id, true)
    }

    pub(super) fn bind(&mut self, name: &str, binding: Binding) {
        if let Binding::Array(elements) = &binding
            && self.frame().function.is_empty()
        {
            self.arrays.insert(name.to_owned(), elements.clone());
        }
        let parent = self.frame().declared;
        self.declarations.push(parent);
        let node = self.declarations.len() - 1;
        let frame = self.frame();
        frame.declared = node;
        let scope = frame.scopes.last_mut().expect("a frame has a scope");
        scope.insert(name.to_owned(), binding);
    }

    /// The local called `name` in the scopes of this frame.
    pub(super) fn lookup(&self, name: &str) -> Option<Binding> {
        let frame = self.frames.last()?;
        frame
            .scopes
            .iter()
            .rev()
            .find_map(|scope| scope.get(name))
            .cloned()
    }

    pub(super) fn mark_used(&mut self, local: LocalId) {
        self.used[local.index()] = true;
    }

    /// The range of an expression, as far as its form tells.
    pub(super) fn range(&self, e: &LocalExpr) -> Option<Range> {
        let copies = self.copies();
        range_of(e, &|atom| match atom {
            LocalAtom::Local(id) => self.ranges[id.index()],
            LocalAtom::SelfId => copies.map(|n| Range::new(0, i64::from(n) - 1)),
        })
    }

    /// How many copies of this thread run, if that is known.
    pub(super) fn copies(&self) -> Option<u32> {
        match self.context.units.get(self.unit?)?.count {
            Count::Once => Some(1),
            Count::Fixed(n) => Some(n),
            Count::Any => None,
        }
    }
}

impl Context<'_> {
    /// Warns about locals that nothing mentions.
    pub(super) fn warn_unused_locals(&mut self, template: &Template, used: &[bool]) {
        for (local, used) in template.locals.iter().zip(used) {
            if !used && local.origin == Origin::User && !is_private(&local.name) {
                self.report(unused_variable(&local.name, local.span));
            }
        }
    }
}
