//! *Lowering*: the tree of a C file to a [`Program`]. Only what `main` reaches is
//! looked at, so that headers may hold what is not supported.
//!
//! Lowering runs twice: a pointer in a thread that is lowered early may point to what a later
//! one allocates. It runs again where the second pass has found other objects and threads than the first, which
//! is rare (loops whose bound only turns out to be constant).
//!
//! Globals that nothing is stored to are read as their initial value, so that
//! lengths and loop bounds in variables are known: in the first pass those that the points-to analysis
//! finds no store to, then those that no pass has found one to. The latter justifies itself: as long as a
//! run has met no store to them they have that value, and the program that is lowered
//! so has no such store.
//!
//! | file | term |
//! |---|---|
//! | `walk` | questions about the tree |
//! | `layout` | types as cells at bytes, addresses |
//! | `value` | integer arithmetic of C |
//! | `place`, `cases` | what stands on the left of an assignment, pointers |
//! | `targets` | what pointers may point to, by location |
//! | `graph` | control flow under construction, atomic regions |
//! | `code` | one thread under construction |
//! | `globals` | variables that live as long as the program |
//! | `found` | what one pass leaves to the next |
//! | `errors` | going on behind a statement with an error |
//! | `expr`, `choice`, `assign` | expressions |
//! | `order`, `effects` | the order of evaluation that C leaves open; what evaluations touch |
//! | `stmt`, `call`, `init` | statements, calls, initialisers |
//! | `float` | floating point |
//! | `library`, `allocate` | functions of C's library; `malloc` |
//! | `input`, `peers` | what is read from outside; names of other tools |
//! | `copies`, `bits` | copies of memory; functions over bits |
//! | `bit_fields` | bit-fields |
//! | `lifetime` | use after free, double free, leaks |
//! | `races` | data races as properties |
//! | `atomic`, `thread`, `sync` | atomics; threads; locks and their kin |
//! | `cleanup` | what a thread does when it ends |
//! | `condition`, `misuse` | condition variables; what may not be done with locks |
//! | `mpi` | ranks, windows, remote operations |
//! | `onesided` | remote operations where their races are looked for |
//! | `openmp` | teams of threads, worksharing, tasks |
//! | `templates` | threads that run the same code become one template |
//! | `lives` | which threads can be in a deadlock |
//! | `litmus` | threads that run from the start, whose variables are looked at in the end |

mod address;
mod allocate;
mod assign;
mod atomic;
mod bit_fields;
mod bits;
mod call;
mod cases;
mod choice;
mod cleanup;
mod code;
mod condition;
mod copies;
mod effects;
mod errors;
mod expr;
mod float;
mod found;
mod globals;
mod graph;
pub(crate) use graph::without_skips;
mod init;
mod input;
mod jumps;
mod layout;
mod library;
mod lifetime;
pub(super) mod litmus;
mod lives;
mod misuse;
mod mpi;
mod names;
mod onesided;
mod openmp;
mod order;
mod peers;
mod place;
mod races;
mod stmt;
mod sync;
mod targets;
mod templates;
mod thread;
mod unreached;
mod value;
mod walk;
pub(super) use library::is_silent;
pub(super) use walk::{assigned, each_expr, each_in_stmt, each_stmt, takes_place};

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::rc::Rc;

use palisade_program::liveness::Liveness;
use palisade_program::{
    AssertKind, Assumption, Count, Global, GlobalId, Home, Init, Life, LocalId, Orders, Program,
    Role, Source, Span, Step, Template, TemplateId,
};

use super::ast::{Declaration, File, Function, Item};
use super::points_to::{PointsTo, Targets};
use super::types::Type;
use super::{Options, Races, note_error};
use crate::Stop;
use crate::diagnostic::Diagnostic;
use code::{Code, Lower, unique};
use errors::Errors;
use found::{Accesses, Found, note_accesses};
use layout::{
    ALIGNMENT, ARGUMENTS, Cells, FIRST_ADDRESS, FIRST_FUNCTION, GAP, LARGE, Layouts, NARROW_GAP,
    Object,
};
pub use onesided::Library;
use thread::{Captured, Plan};

/// Threads that wait for signals, at most, where lost ones are looked for.
const MAX_WAITING: usize = 32;
/// Passes at most until objects and threads are known.
const MAX_PASSES: usize = 10;

/// Calls `f` on a statement and those inside it.
pub(super) fn each_statement<'s>(s: &'s super::ast::Stmt, f: &mut dyn FnMut(&'s super::ast::Stmt)) {
    walk::each_stmt(s, f);
}

/// Whether remote races are looked for whatever is asked, and the library.
pub(super) fn always_races(file: &File) -> (bool, Library) {
    let names = walk::file_names(file).mentioned;
    needs_races(&names)
}

/// The same of the names of a file.
fn needs_races(names: &HashSet<String>) -> (bool, Library) {
    let library = Library::of(names);
    let is_always = match library {
        Library::Mpi => mpi::needs_races(names),
        Library::Shmem | Library::Gaspi => true,
    };
    (is_always, library)
}

/// Lowers a file.
pub(super) fn lower(
    file: &File,
    source: &Source,
    options: &Options,
) -> Result<Program, Vec<Diagnostic>> {
    let (context, templates) = settled(file, options, None)?;
    let program = context.program(source, templates);
    program.map_err(|error| vec![error])
}

/// The last pass and the threads that it made.
fn settled<'a>(
    file: &'a File,
    options: &Options,
    litmus: Option<&'a litmus::Start>,
) -> Result<(Context<'a>, Vec<Template>), Vec<Diagnostic>> {
    let mut before = Found::default();
    let is_openmp = openmp::is_used(&walk::file_names(file).mentioned);
    // Regions use variables of the function around them.
    let options = &Options {
        all_targets: options.all_targets || is_openmp,
        ..options.clone()
    };
    // Ranks of MPI have variables of their own, and the threads of litmus tests get addresses from outside.
    let is_off = options.all_targets || mpi::is_used(file) || litmus.is_some();
    let points_to = Rc::new(if is_off {
        PointsTo::default()
    } else {
        PointsTo::of(file, options.data_model)
    });
    for _ in 0..MAX_PASSES {
        let mut context = Context::new(file, options, &points_to, before);
        context.litmus = litmus;
        if litmus.is_some() {
            // Registers may be narrow, and hold addresses.
            context.next_address = LARGE;
        }
        let templates = match context.templates() {
            Ok(templates) if context.errors.all.is_empty() => templates,
            Ok(_) => return Err(context.errors.all),
            Err(last) => {
                note_error(&mut context.errors.all, last);
                return Err(context.errors.all);
            }
        };
        let found = context.found(&templates);
        if found.same(&context.previous) {
            return Ok((context, templates));
        }
        before = found;
    }
    let error = Diagnostic::error(
        Span::default(),
        "unsupported: what pointers may point to could not be found out",
    );
    Err(vec![
        error.help("fewer allocations through function pointers"),
    ])
}

/// What the whole file knows.
#[allow(clippy::struct_excessive_bools)] // what was met, each by itself
struct Context<'a> {
    options: Options,
    points_to: Rc<PointsTo>,
    layouts: Layouts<'a>,
    file: &'a File,
    functions: HashMap<&'a str, &'a Function>,
    function_list: Vec<&'a Function>,
    /// Functions that are used other than by calling them.
    taken_functions: HashSet<String>,
    /// Functions that start or await threads.
    thread_functions: HashSet<String>,
    /// The names of the file.
    names_used: walk::Names,
    variables: HashMap<String, Rc<Object>>,
    thread_local: HashMap<String, &'a Declaration>,
    statics: HashMap<(String, Span), Rc<Object>>,
    /// String literals, by where they stand.
    strings: HashMap<(String, Span), Rc<Object>>,
    addresses: HashMap<String, Rc<walk::Addresses>>,
    globals: Vec<Global>,
    /// How many of them are declared at the top level: these come first.
    declared: usize,
    names: HashMap<String, u32>,
    objects: Vec<Rc<Object>>,
    next_address: i64,
    plans: Vec<Plan<'a>>,
    plan_names: HashMap<String, u32>,
    previous: Found<'a>,
    /// The declared variables that something may be stored to, by the points-to analysis: for the first pass.
    may_be_stored: Option<BTreeSet<GlobalId>>,
    /// Whether some join asks for a thread's result.
    uses_results: bool,
    /// Whether `main` ends by `pthread_exit`, and the other threads go on.
    main_exits: bool,
    /// Whether memory is allocated.
    allocates: bool,
    /// The threads that may join or detach a thread.
    joiners: BTreeMap<usize, BTreeSet<usize>>,
    /// Locks whose owners are not followed.
    unowned: BTreeSet<GlobalId>,
    /// Local variables that pointers in shared memory point to; see `lifetime`.
    published: BTreeSet<usize>,
    /// The registers of each thread that say which locks it holds.
    held_locks: Vec<BTreeSet<LocalId>>,
    /// The statuses of allocations.
    statuses: BTreeSet<GlobalId>,
    /// What says that an object was allocated.
    allocations: BTreeSet<GlobalId>,
    /// Whether some load is relaxed or acquires only.
    loads_in_order: bool,
    /// Whether a function is called that has no body.
    calls_undefined: bool,
    /// Where operations stand that are atomic by their name, and what they access so.
    atomic_accesses: HashSet<(Span, GlobalId)>,
    last_result: Option<Rc<Object>>,
    pending_type: Option<Type>,
    /// Types that pointers to something else are converted to, in this pass and before.
    recast: Vec<Type>,
    /// Whether an address becomes an integer ([`address`]), in this pass or before.
    numbers: bool,
    errors: Errors,
    /// MPI programs only.
    mpi: Option<mpi::Mpi>,
    /// Programs whose remote races are looked for.
    onesided: Option<onesided::Onesided>,
    /// What is known of OpenMP.
    openmp: openmp::Openmp,
    /// Where accesses stand that are plain although they are made in a block of the library.
    plain_accesses: HashSet<(Span, GlobalId)>,
    /// Assertions that were met, or stand where control does not get, whether they can fail or not.
    asserts: unreached::Asserts,
    /// Litmus tests only.
    litmus: Option<&'a litmus::Start>,
    /// The variables of their threads, by thread and name.
    observed: litmus::Observed,
}

impl<'a> Context<'a> {
    /// Whether this is a C program of one process, not a litmus test.
    const fn is_program(&self) -> bool {
        self.litmus.is_none() && self.mpi.is_none() && self.onesided.is_none()
    }

    /// Whether a cell of this type holds a value that is followed.
    fn has_value(&self, ty: &Type) -> bool {
        ty.is_scalar() || self.is_program() && ty.is_value()
    }

    fn new(
        file: &'a File,
        options: &Options,
        points_to: &Rc<PointsTo>,
        previous: Found<'a>,
    ) -> Self {
        let mut functions = HashMap::new();
        let mut function_list = Vec::new();
        for item in &file.items {
            if let Item::Function(f) = item {
                functions.insert(f.name.as_str(), f);
                function_list.push(f);
            }
        }
        let names_used = walk::file_names(file);
        let thread_functions = walk::thread_functions(&functions);
        Self {
            options: options.clone(),
            points_to: points_to.clone(),
            layouts: Layouts {
                structs: &file.structs,
                model: options.data_model,
                used_members: names_used.members.clone(),
                floats: true,
                waiting: if options.lost_signals {
                    previous.plans.len().clamp(1, MAX_WAITING)
                } else {
                    0
                },
            },
            file,
            taken_functions: names_used.values.clone(),
            functions,
            function_list,
            thread_functions,
            names_used,
            variables: HashMap::new(),
            thread_local: HashMap::new(),
            statics: HashMap::new(),
            strings: HashMap::new(),
            addresses: HashMap::new(),
            globals: Vec::new(),
            declared: 0,
            names: HashMap::new(),
            objects: Vec::new(),
            next_address: FIRST_ADDRESS,
            plans: Vec::new(),
            plan_names: HashMap::new(),
            recast: previous.recast.clone(),
            numbers: previous.numbers,
            unowned: previous.unowned.clone(),
            published: previous.published.clone(),
            joiners: BTreeMap::new(),
            errors: Errors::default(),
            asserts: unreached::Asserts::default(),
            previous,
            may_be_stored: None,
            uses_results: walk::uses_results(file),
            main_exits: false,
            allocates: false,
            statuses: BTreeSet::new(),
            allocations: BTreeSet::new(),
            held_locks: Vec::new(),
            loads_in_order: false,
            calls_undefined: false,
            atomic_accesses: HashSet::new(),
            last_result: None,
            pending_type: None,
            mpi: None,
            onesided: None,
            openmp: openmp::Openmp::default(),
            plain_accesses: HashSet::new(),
            litmus: None,
            observed: litmus::Observed::new(),
        }
    }

    fn found(&self, templates: &[Template]) -> Found<'a> {
        // Accesses are known by numbers of variables: where these have changed, they are found anew.
        let is_numbered =
            self.mpi.is_none() || found::same_cells(&self.objects, &self.previous.objects);
        let mut accesses = self.previous.accesses.clone();
        if !is_numbered {
            accesses.clear();
        }
        accesses.resize(accesses.len().max(templates.len()), Accesses::default());
        let mut network = self.previous.network.clone();
        if !is_numbered {
            network.clear();
        }
        for (template, accesses) in templates.iter().zip(&mut accesses) {
            note_accesses(&template.cfg, accesses, &mut network);
        }
        let mut stored = self.previous.stored.clone();
        stored.extend(accesses.iter().flat_map(|a| &a.stores).chain(&network));
        stored.retain(|var| var.index() < self.declared);
        Found {
            objects: self.objects.clone(),
            plans: self.plans.clone(),
            windows: self
                .mpi
                .as_ref()
                .map_or_else(Vec::new, |m| m.windows.clone()),
            tracked: self
                .onesided
                .as_ref()
                .map_or_else(onesided::Tracked::default, |o| o.tracked.clone()),
            stored,
            recast: self.recast.clone(),
            numbers: self.numbers,
            unowned: self.unowned.clone(),
            published: self.published.clone(),
            joiners: self.joiners.clone(),
            accesses,
            network,
            complete: true,
        }
    }

    /// The value of a variable that nothing is ever stored to. Variables of MPI's ranks
    /// are left alone: the network writes them.
    fn constant(&self, var: GlobalId) -> Option<i64> {
        let is_stored = match &self.may_be_stored {
            _ if self.previous.complete => self.previous.stored.contains(&var),
            Some(some) => some.contains(&var),
            None => true,
        };
        let never = !is_stored && self.mpi.is_none() && var.index() < self.declared;
        let global = self
            .globals
            .get(var.index())
            .filter(|g| never && g.len.is_none());
        global.and_then(|g| match g.init.first() {
            Some(Init::Value(value)) => Some(*value),
            Some(Init::Any) | None => None,
        })
    }

    /// A new object in memory.
    fn object(
        &mut self,
        name: &str,
        ty: &Type,
        taken: bool,
        on_stack: bool,
        span: Span,
    ) -> Lower<Rc<Object>> {
        let leaves = self.layouts.leaves(ty, span)?;
        let size = self.layouts.size(ty, span)?;
        self.object_of((name, ty), leaves, size, (taken, on_stack), span)
    }

    /// Whether a copy may bring marks that nothing was written: it is more than one scalar.
    fn takes_marks(&self, ty: &Type) -> bool {
        self.options.check_uninitialised && !ty.is_value()
    }

    /// An object of these leaves and this size.
    fn object_of(
        &mut self,
        (name, ty): (&str, &Type),
        leaves: Vec<layout::Leaf>,
        size: u64,
        (taken, on_stack): (bool, bool),
        span: Span,
    ) -> Lower<Rc<Object>> {
        let name = match &self.mpi {
            Some(mpi) => format!("rank{}.{name}", mpi.rank),
            None => name.to_owned(),
        };
        let name = unique(&mut self.names, &name);
        let mut cells = Vec::new();
        for leaf in &leaves {
            let len = (!leaf.dims.is_empty()).then(|| leaf.count() as u32);
            let id = self.global(format!("{name}{}", leaf.path), len, span);
            cells.push(Cells::Shared(id));
        }
        let base = self.room(size);
        if self.next_address >= FIRST_FUNCTION {
            return Err(Diagnostic::error(span, "unsupported: too much memory"));
        }
        // The network may bring what is not initialised: an earlier pass knows where.
        let earlier = self.previous.objects.get(self.objects.len());
        let brought = self.mpi.is_some() && earlier.is_some_and(|o| o.poisoned.get());
        let poisoned = brought || self.takes_marks(ty);
        let object = Rc::new(Object {
            name,
            ty: ty.clone(),
            leaves,
            cells,
            size,
            base: Some(base),
            taken,
            on_stack,
            owner: None,
            poisoned: std::cell::Cell::new(poisoned),
            status: None,
            allocation: None,
            rank: self.mpi.as_ref().map(|mpi| mpi.rank),
            site: span,
        });
        self.objects.push(object.clone());
        Ok(object)
    }

    /// Addresses for an object of some bytes.
    fn room(&mut self, size: u64) -> i64 {
        let base = self.next_address;
        let gap = if self.litmus.is_some() {
            NARROW_GAP
        } else {
            GAP
        };
        self.next_address = (base + size as i64 + gap) / ALIGNMENT * ALIGNMENT;
        base
    }

    /// Gives registers an address, so that their own thread can point to them.
    fn with_address(&mut self, object: Object, thread: usize) -> Rc<Object> {
        let base = self.room(object.size);
        let object = Rc::new(Object {
            base: Some(base),
            owner: Some(thread),
            ..object
        });
        self.objects.push(object.clone());
        object
    }

    fn global(&mut self, name: String, len: Option<u32>, span: Span) -> GlobalId {
        self.globals.push(Global {
            name,
            len,
            init: vec![Init::Value(0); len.unwrap_or(1) as usize],
            domain: None,
            role: Role::Data,
            home: self.mpi.as_ref().map(|mpi| Home {
                template: TemplateId(mpi.rank),
                per_copy: false,
            }),
            span,
        });
        GlobalId::from(self.globals.len() - 1)
    }

    fn note_recast(&mut self, of: &Type) {
        let of = of.plain();
        if *of != Type::Void && !self.recast.contains(of) {
            self.recast.push(of.clone());
        }
    }

    /// Allocated memory is not initialised.
    fn forget_initial(&mut self, object: &Object) {
        object.poisoned.set(true);
        let checks_misuse = self.options.asked == palisade_program::Asked::All;
        for (leaf, cells) in object.leaves.iter().zip(&object.cells) {
            if let (Cells::Shared(var), true) = (cells, leaf.is_raw() && checks_misuse) {
                self.globals[var.index()]
                    .init
                    .fill(Init::Value(misuse::RAW));
            }
            if let (Cells::Shared(var), true) = (cells, self.has_value(&leaf.ty)) {
                let init = Init::Value(palisade_program::UNINITIALISED);
                self.globals[var.index()].init.fill(init);
            }
        }
    }

    /// The object that an address is in, or just behind.
    fn object_at(&self, address: i64) -> Option<usize> {
        let count = self.objects.len().max(self.previous.objects.len());
        (0..count).find(|k| {
            self.object_number(*k).is_some_and(|o| {
                o.base
                    .is_some_and(|b| b <= address && address <= b + o.size as i64)
            })
        })
    }

    fn object_number(&self, k: usize) -> Option<Rc<Object>> {
        let now = self.objects.get(k);
        now.or_else(|| self.previous.objects.get(k)).cloned()
    }

    /// The objects that a pointer may point to.
    fn targets(
        &self,
        object: Option<usize>,
        among: Option<&Targets>,
        thread: usize,
    ) -> Vec<Rc<Object>> {
        if let Some(k) = object {
            return self.object_number(k).into_iter().collect();
        }
        let count = self.objects.len().max(self.previous.objects.len());
        (0..count)
            .filter_map(|k| Some((k, self.object_number(k)?)))
            .filter(|(k, o)| {
                let rank = self.mpi.as_ref().map(|mpi| mpi.rank);
                o.rank == rank || self.shared_window(*k).is_some()
            })
            .map(|(_, o)| o)
            .filter(|o| o.taken || o.owner == Some(thread))
            .filter(|o| self.may_be(among, o))
            // Registers of an earlier pass are not those of this one.
            .filter(|o| o.owner.is_none() || self.objects.iter().any(|p| Rc::ptr_eq(o, p)))
            .collect()
    }

    /// Whether a pointer may point to an object, by what is known of it.
    fn may_be(&self, among: Option<&Targets>, object: &Object) -> bool {
        among.is_none_or(|targets| self.points_to.may_be(targets, object.site))
    }

    fn known_plans(&self) -> Vec<Plan<'a>> {
        let mut plans = self.plans.clone();
        plans.extend(self.previous.plans.iter().skip(plans.len()).cloned());
        plans
    }

    fn function_number(&self, name: &str) -> Option<usize> {
        self.function_list.iter().position(|f| f.name == name)
    }

    fn addresses_of(&mut self, f: &Function) -> Rc<walk::Addresses> {
        self.addresses
            .entry(f.name.clone())
            .or_insert_with(|| Rc::new(walk::addresses(&f.body)))
            .clone()
    }

    fn is_address_taken(&self, name: &str) -> bool {
        self.function_list
            .iter()
            .any(|f| walk::addresses(&f.body).taken.contains(name))
    }

    /// A thread to be made.
    fn plan(
        &mut self,
        function: &'a Function,
        constant: Option<i64>,
        is_any: bool,
        span: Span,
    ) -> Plan<'a> {
        let rank = self.mpi.as_ref();
        let rank = rank.map_or_else(String::new, |mpi| format!("rank{}.", mpi.rank));
        let name = {
            let count = self.plan_names.entry(function.name.clone()).or_insert(0);
            *count += 1;
            match *count {
                1 => format!("{rank}{}", function.name),
                n => format!("{rank}{}_{n}", function.name),
            }
        };
        let joiners = self.previous.joiners.get(&self.plans.len());
        let several = joiners.is_some_and(|threads| threads.len() > 1);
        let argument = match constant {
            Some(_) => None,
            None => Some(self.global(format!("{name}.argument"), None, span)),
        };
        let plan = Plan {
            function,
            constant,
            argument,
            captured: None,
            started: self.global(format!("{name}.started"), None, span),
            ended: self.global(format!("{name}.ended"), None, span),
            claimed: several.then(|| self.global(format!("{name}.claimed"), None, span)),
            result: self
                .uses_results
                .then(|| self.global(format!("{name}.result"), None, span)),
            name,
            is_any,
            is_main: false,
            rank: self.mpi.as_ref().map(|mpi| mpi.rank),
            part: None,
            span: function.span,
        };
        self.plans.push(plan.clone());
        plan
    }

    /// A thread that gets values of its creator's locals; those that are no constants in variables of its own.
    fn plan_capturing(
        &mut self,
        function: &'a Function,
        constants: &[Option<i64>],
        is_any: bool,
        span: Span,
    ) -> Plan<'a> {
        let plan = self.plan(function, Some(0), is_any, span);
        let names = constants.iter().enumerate();
        let captured = names.map(|(k, constant)| {
            constant.map_or_else(
                || {
                    let name = format!("{}.captured{k}", plan.name);
                    Captured::Passed(self.global(name, None, span))
                },
                Captured::Constant,
            )
        });
        let captured = Some(captured.collect());
        let plan = Plan { captured, ..plan };
        if let Some(last) = self.plans.last_mut() {
            last.clone_from(&plan);
        }
        plan
    }

    /// A thread of a team of OpenMP.
    fn plan_part(&mut self, function: &'a Function, part: openmp::Part, span: Span) -> Plan<'a> {
        let plan = self.plan(function, Some(0), false, span);
        let plan = Plan {
            part: Some(part),
            ..plan
        };
        if let Some(last) = self.plans.last_mut() {
            last.clone_from(&plan);
        }
        plan
    }

    /// The first thread of the program, or of the rank that is lowered.
    fn plan_main(&mut self, main: &'a Function, name: String) -> Plan<'a> {
        let plan = Plan {
            function: main,
            name,
            constant: None,
            argument: None,
            captured: None,
            started: GlobalId(0),
            ended: GlobalId(0),
            result: None,
            claimed: None,
            is_any: false,
            is_main: true,
            rank: self.mpi.as_ref().map(|mpi| mpi.rank),
            part: None,
            span: main.span,
        };
        self.plans.push(plan.clone());
        plan
    }

    /// Whether the rank that is lowered has several threads.
    fn has_threads(&self) -> bool {
        let rank = self.mpi.as_ref().map(|mpi| mpi.rank);
        let plans = &self.previous.plans;
        plans.iter().any(|p| !p.is_main && p.rank == rank)
    }

    /// Lowers the threads that are planned, from the last template on.
    fn planned(&mut self, templates: &mut Vec<Template>) -> Lower<()> {
        while templates.len() < self.plans.len() {
            let number = templates.len();
            let plan = self.plans[number].clone();
            templates.push(self.template(number, &plan)?);
        }
        Ok(())
    }

    fn templates(&mut self) -> Lower<Vec<Template>> {
        if let Some(start) = self.litmus {
            return self.litmus_threads(start);
        }
        let Some(main) = self.functions.get("main").copied() else {
            return Err(Diagnostic::error(Span::default(), "there is no `main`")
                .help("a C program starts at main"));
        };
        if mpi::is_used(self.file) {
            return self.ranks_of(main);
        }
        self.declare_globals()?;
        let written = |name: &&String| self.points_to.is_written(name);
        let names = self.variables.keys().filter(written);
        let cells = names.flat_map(|name| self.variables[name].shared());
        self.may_be_stored = (!self.options.all_targets).then(|| cells.collect());
        self.plan_main(main, "main".to_owned());
        let mut templates = Vec::new();
        self.planned(&mut templates)?;
        Ok(templates)
    }

    /// The processes of an MPI program: main once for each rank, with variables of its own.
    fn ranks_of(&mut self, main: &'a Function) -> Lower<Vec<Template>> {
        let Some(ranks) = self.options.ranks else {
            return Err(
                Diagnostic::error(main.span, "how many ranks run this MPI program?")
                    .help("say it with `-n 2`"),
            );
        };
        if !(1..=mpi::MAX_RANKS).contains(&ranks) {
            return Err(
                Diagnostic::error(main.span, format!("unsupported: {ranks} ranks"))
                    .help(format!("1 to {} are supported", mpi::MAX_RANKS)),
            );
        }
        if self.options.check_uninitialised {
            return Err(Diagnostic::error(
                main.span,
                "unsupported: reads of what nothing was written to, in programs of several ranks",
            )
            .help("leave out `--check uninitialised`"));
        }
        let arrived = self.global("barrier.arrived".to_owned(), None, main.span);
        let sense = self.global("barrier.sense".to_owned(), None, main.span);
        for var in [arrived, sense] {
            self.globals[var.index()].home = Some(Home {
                template: TemplateId(0),
                per_copy: false,
            });
        }
        let previous = self.previous.windows.clone();
        self.mpi = Some(mpi::Mpi::new(ranks, previous, (arrived, sense)));
        // The network computes with the values of cells.
        self.layouts.floats = false;
        let names = &self.names_used.mentioned;
        let (is_always, library) = needs_races(names);
        if self.options.races == Races::Check || is_always {
            let tracked = self.previous.tracked.clone();
            self.onesided = Some(onesided::Onesided::new(tracked, library));
            self.layouts.floats = true;
        }
        let mut templates = Vec::new();
        for rank in 0..ranks {
            if let Some(mpi) = &mut self.mpi {
                mpi.rank = rank;
            }
            if let Some(onesided) = &mut self.onesided {
                onesided.next_rank();
            }
            self.plan_names.clear();
            self.variables.clear();
            self.thread_local.clear();
            self.statics.clear();
            self.strings.clear();
            self.declare_globals()?;
            self.plan_main(main, format!("rank{rank}"));
            self.planned(&mut templates)?;
        }
        let threads = templates.len();
        if self.previous.complete {
            templates.extend(self.window_processes(main.span)?);
        }
        templates.extend(self.network(threads, main.span)?);
        Ok(templates)
    }

    /// Whether `main` is given the texts of the program's arguments.
    fn has_arguments(&self) -> bool {
        let main = self.functions.get("main");
        main.is_some_and(|main| main.params.iter().any(|(_, ty)| ty.is_pointer()))
    }

    fn template(&mut self, number: usize, plan: &Plan<'a>) -> Lower<Template> {
        let is_main = plan.is_main;
        let litmus = self.litmus;
        let mut code = Code::new(self, number, plan.is_any);
        let entry = code.here;
        if let Some(start) = litmus {
            let arguments = code.locations(plan.function, start);
            code.main_function(plan.function, arguments, plan.span)?;
        } else if is_main {
            let mut arguments = Vec::new();
            for (_, ty) in &plan.function.params {
                // The number of arguments is not known, their texts are not read (`place`).
                if ty.is_pointer() {
                    let texts = palisade_program::Expr::Const(ARGUMENTS.0);
                    arguments.push(call::Argument::Value(code.held(texts, ty)));
                    continue;
                }
                let any = code.hidden(plan.span);
                if ty.is_integer() {
                    code.havoc(any, ty, plan.span);
                }
                let e = code.read(any);
                arguments.push(call::Argument::Value(code.held(e, ty)));
            }
            code.main_function(plan.function, arguments, plan.span)?;
        } else {
            code.run(plan)?;
        }
        if !code.cx.errors.all.is_empty() {
            // Statements are missing: nothing is made of the rest.
            return Ok(nothing(plan));
        }
        let exit = code.here;
        let mut locals = std::mem::take(&mut code.locals);
        let held = std::mem::take(&mut code.held_locks);
        let graph = std::mem::take(&mut code.graph);
        let mut extra = 0;
        let cfg = graph.finish(entry, exit, &mut || {
            extra += 1;
            locals.push(palisade_program::Local {
                name: format!("$way{extra}"),
                init: Init::Value(0),
                domain: None,
                role: Role::Data,
                origin: palisade_program::Origin::Temporary,
                span: plan.span,
            });
            palisade_program::LocalId::from(locals.len() - 1)
        })?;
        self.held_locks.push(held.into_values().collect());
        Ok(Template {
            name: plan.name.clone(),
            count: if plan.is_any { Count::Any } else { Count::Once },
            is_process: self.mpi.is_some(),
            locals,
            cfg,
            labels: Vec::new(),
            life: Life::default(),
            span: plan.span,
        })
    }

    /// The variables of the program, and whether they are declared atomic.
    fn plain_variables(&self) -> std::collections::BTreeMap<GlobalId, bool> {
        let mut all = std::collections::BTreeMap::new();
        for object in &self.objects {
            for (leaf, cells) in object.leaves.iter().zip(&object.cells) {
                if let (Cells::Shared(var), true) = (cells, self.has_value(&leaf.ty)) {
                    all.insert(*var, leaf.ty.is_atomic());
                }
            }
        }
        all
    }

    fn assumptions(&self) -> Vec<Assumption> {
        let math = self
            .options
            .math
            .then_some(Assumption::MathematicalIntegers);
        let checked = self.options.asked.checks_memory() && self.mpi.is_none();
        let allocation = self.allocates.then_some(if checked {
            Assumption::Allocation
        } else {
            Assumption::FreedUnused
        });
        let frees = self.allocates && self.names_used.mentioned.contains("free");
        let fresh = frees.then_some(Assumption::FreshAddresses);
        let order = match self.options.orders {
            Orders::Mapped => Some(Assumption::AccessOrder),
            Orders::Kept => None,
        };
        let loads = order.and(self.loads_in_order.then_some(Assumption::LoadsInOrder));
        let undefined = self
            .calls_undefined
            .then_some(Assumption::UndefinedFunctions);
        let not_joined = self.joiners.len() + 1 < self.plans.len();
        let exits = self.main_exits || self.options.outlive_main;
        let returns = self.options.lost_signals && !exits && self.mpi.is_none();
        let ends = (returns && not_joined).then_some(Assumption::MainEnds);
        let all = [order, math, allocation, fresh, loads, undefined, ends];
        all.into_iter().flatten().collect()
    }

    fn program(self, source: &Source, templates: Vec<Template>) -> Lower<Program> {
        let variables = self.plain_variables();
        let races = self.options.races;
        let assumptions = self.assumptions();
        let names = self.reported_names();
        // Passes that it ends leave anything: nothing is made of it.
        let stop = self.options.stop.clone();
        let left_out = self.asserts.unreached(&templates);
        let mut program = Program {
            names,
            left_out,
            source: source.clone(),
            globals: self.globals,
            templates,
            asked: self.options.asked,
            assumptions,
            orders: self.options.orders,
            ..Program::default()
        };
        let names: Vec<String> = program.globals.iter().map(|g| g.name.clone()).collect();
        for template in &mut program.templates {
            name_uninitialised(&mut template.cfg, &names);
            onesided::name_lines(&mut template.cfg, source);
        }
        for k in 0..program.templates.len() {
            drop_dead_steps(&mut program, TemplateId::from(k), &stop);
        }
        if self.mpi.is_none() {
            targets::prune(&mut program, self.held_locks, &stop);
        }
        lifetime::settle(&mut program, &self.statuses, &self.allocations);
        // The arguments for templates are about buffers: under RC11 flags stay as they are.
        let is_openmp = self.plans.iter().any(|plan| plan.part.is_some());
        let numbers = match self.options.orders {
            _ if is_openmp => program.global_ids().map(Some).collect(),
            Orders::Mapped => templates::keep(&mut program, &self.plans)?,
            Orders::Kept => program.global_ids().map(Some).collect(),
        };
        for k in 0..program.templates.len() {
            drop_dead_steps(&mut program, TemplateId::from(k), &stop);
        }
        if self.onesided.is_some() {
            // No step is remote any more: everybody reaches every variable.
            for global in &mut program.globals {
                global.home = None;
            }
        }
        // The ranks of MPI that have several threads.
        let ranks: Vec<Option<u32>> = self.plans.iter().map(|plan| plan.rank).collect();
        let has_threads = self.plans.iter().any(|plan| !plan.is_main);
        if races != Races::Ignore && (self.onesided.is_none() || has_threads) {
            let variables = variables.into_iter();
            let renumbered =
                variables.filter_map(|(v, atomic)| Some((numbers[v.index()]?, atomic)));
            let atomic = self.atomic_accesses.into_iter();
            let known = races::Known {
                variables: renumbered.collect(),
                atomic: atomic
                    .filter_map(|(span, var)| Some((span, numbers[var.index()]?)))
                    .collect(),
                plain: self
                    .plain_accesses
                    .into_iter()
                    .filter_map(|(span, var)| Some((span, numbers[var.index()]?)))
                    .collect(),
                ranks: self.onesided.is_some().then_some(ranks),
                lenient: races == Races::Note,
            };
            races::add(&mut program, &known)?;
        }
        let has_lives = self.mpi.is_none() || has_threads;
        if has_lives && self.litmus.is_none() {
            let kept = |var: GlobalId| numbers[var.index()];
            let plans = self.plans.iter().filter(|plan| !plan.is_main);
            let flags = lives::Flags {
                started: plans.clone().filter_map(|p| kept(p.started)).collect(),
                ended: plans.filter_map(|p| kept(p.ended)).collect(),
            };
            // No rank ends the others.
            let exits = self.main_exits || self.options.outlive_main || self.mpi.is_some();
            lives::settle(&mut program, &flags, exits);
        }
        Ok(program)
    }
}

/// Gives the variables of checks for uninitialised memory their names, for their numbers.
fn name_uninitialised(cfg: &mut palisade_program::Cfg, names: &[String]) {
    for edge in &mut cfg.edges {
        match &mut edge.step {
            Step::Assert {
                kind: AssertKind::Uninitialised { variable, .. },
                ..
            } => {
                let number = variable.parse::<usize>().ok();
                if let Some(name) = number.and_then(|n| names.get(n)) {
                    variable.clone_from(name);
                }
            }
            Step::Atomic(block) => name_uninitialised(&mut block.body, names),
            Step::Assert { .. } | Step::Skip | Step::Assume(_) | Step::Assign { .. } => {}
            Step::Havoc { .. } | Step::Load { .. } | Step::Store { .. } | Step::Fence(_) => {}
            Step::Put { .. } | Step::Get { .. } | Step::Flush(_) | Step::RemoteAtomic(_) => {}
        }
    }
}

/// A template without code.
fn nothing(plan: &Plan<'_>) -> Template {
    let mut graph = palisade_program::CfgBuilder::new();
    let only = graph.loc();
    Template {
        name: plan.name.clone(),
        count: Count::Once,
        is_process: false,
        locals: Vec::new(),
        cfg: graph.finish_whole(only, only),
        labels: Vec::new(),
        life: Life::default(),
        span: plan.span,
    }
}

/// Removes choices and assignments whose value nothing reads: variables without
/// initialiser that are written before they are read, parameters and results that
/// nobody looks at.
fn drop_dead_steps(program: &mut Program, id: TemplateId, stop: &Stop) {
    while !stop.is_raised() {
        let live = Liveness::of(program, id);
        let mut changed = false;
        let template = &mut program.templates[id.index()];
        for edge in &mut template.cfg.edges {
            if let Step::Havoc { dst, .. } | Step::Assign { dst, .. } = edge.step
                && !live.is_live(edge.to, dst)
            {
                edge.step = Step::Skip;
                changed = true;
            }
        }
        if !changed {
            return;
        }
        template.cfg = graph::without_skips(&template.cfg);
    }
}
