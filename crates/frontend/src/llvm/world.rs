//! The *world* of a program: what all of its threads share, as far as it is known. Memory is a
//! number of *objects* (statics, allocations, locals of functions), each at an address of its own.
//! An object that more than one thread touches is *shared*; its bytes are *cells*, each a variable
//! of the [`Program`](palisade_program::Program), and for each cell the values are known that
//! any store may put there.
//!
//! All that is found out by executing the threads, again and again, until an execution finds
//! nothing new ([`World::grown`]). What was said before is kept, so that the facts which the last
//! execution rests on are those that it confirms.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use palisade_program::{FREED, GlobalId, Span, UNINITIALISED};

use super::arith::canonical;
use super::ir::{Const, Function, Module, Type, Variable};
use super::memory::Content;
use super::values::Values;

/// Each object has this much room.
pub(super) const ROOM: i64 = 1 << 20;
/// How often a set of values may grow before it becomes a range; after as many times again all
/// words are taken for possible.
const PATIENCE: u8 = 10;

/// Index into [`World::objects`].
pub(super) type ObjectId = usize;
/// A chain of calls: index into [`World::paths`].
pub(super) type PathId = usize;

/// What an object is.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Key {
    /// A variable of a module.
    Static(String),
    /// A variable that each thread has its own of.
    ThreadLocal(usize, String),
    Function(String),
    /// The n-th allocation of a thread that is in use.
    Heap(usize, u32),
    /// A local of a function: thread, calls, register.
    Stack(usize, PathId, u32),
}

/// An object.
#[derive(Clone, Debug)]
pub(super) struct Object {
    pub(super) key: Key,
    pub(super) size: u64,
    /// What people call it, and the debug type of its contents with the module that has it.
    pub(super) name: Option<(String, Option<(usize, u32)>)>,
    pub(super) span: Span,
}

/// A cell of a shared object.
#[derive(Clone, Debug)]
pub(super) struct Cell {
    pub(super) size: u64,
    /// What any store puts there; `None` if none does.
    pub(super) values: Option<Values>,
    /// Whether it may be read after the object was freed, or before anything was written.
    pub(super) freed: bool,
    pub(super) uninitialised: bool,
    /// Whether a step of a thread writes it.
    pub(super) written: bool,
    pub(super) id: GlobalId,
    grown: u8,
}

/// A thread that is started somewhere.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    /// The thread that starts it.
    pub(super) parent: usize,
    pub(super) function: String,
    pub(super) argument: i64,
    /// What only the new thread has from then on.
    pub(super) given: BTreeMap<ObjectId, Content>,
    /// Whether it runs from the beginning.
    pub(super) at_once: bool,
    pub(super) scope: i64,
    pub(super) span: Span,
}

/// Bytes that are copied: from, to, how many.
type Copy = ((ObjectId, u64), (ObjectId, u64), u64);

/// Where a thread is started: by whom, in which calls, as its how-many-th.
pub(super) type Start = (usize, PathId, usize, u32);

/// See the module's header.
pub(super) struct World<'m> {
    pub(super) modules: &'m [Module],
    functions: BTreeMap<&'m str, (usize, usize)>,
    variables: BTreeMap<&'m str, (usize, usize)>,
    pub(super) objects: Vec<Object>,
    keys: BTreeMap<Key, ObjectId>,
    paths: BTreeMap<(PathId, usize, usize), PathId>,
    pub(super) shared: BTreeSet<ObjectId>,
    pub(super) cells: BTreeMap<(ObjectId, u64), Cell>,
    /// Cells that an atomic access takes as a whole.
    pub(super) atomic: BTreeSet<(ObjectId, u64)>,
    /// Bytes that are copied between shared objects: from, to, how many.
    copies: BTreeSet<Copy>,
    /// Shared objects that some thread frees.
    pub(super) freed: BTreeSet<ObjectId>,
    /// Whether the program makes pointers of `Arc`s, or the other way round.
    pub(super) raw_counts: bool,
    /// Objects that were given to a new thread.
    pub(super) given: BTreeSet<ObjectId>,
    /// What shared objects hold when the threads start.
    pub(super) initial: BTreeMap<ObjectId, Content>,
    /// What constants hold.
    pub(super) constants: BTreeMap<ObjectId, Rc<Content>>,
    pub(super) starts: BTreeMap<Start, usize>,
    /// The threads; `main` is number 0 and has no plan.
    pub(super) plans: Vec<Plan>,
    /// The threads that this execution has started.
    pub(super) planned: BTreeSet<usize>,
    /// Whether this execution has found something new.
    pub(super) grown: bool,
    /// Why there is no Program, whatever runs do.
    pub(super) refusal: Option<super::Refusal>,
}

impl<'m> World<'m> {
    pub(super) fn new(modules: &'m [Module]) -> Self {
        let mut functions = BTreeMap::new();
        let mut variables = BTreeMap::new();
        for (m, module) in modules.iter().enumerate() {
            for (i, function) in module.functions.iter().enumerate() {
                functions.entry(function.name.as_str()).or_insert((m, i));
            }
            for (i, variable) in module.variables.iter().enumerate() {
                if variable.init.is_some() {
                    variables.entry(variable.name.as_str()).or_insert((m, i));
                }
            }
        }
        Self {
            modules,
            functions,
            variables,
            objects: Vec::new(),
            keys: BTreeMap::new(),
            paths: BTreeMap::new(),
            shared: BTreeSet::new(),
            cells: BTreeMap::new(),
            atomic: BTreeSet::new(),
            copies: BTreeSet::new(),
            freed: BTreeSet::new(),
            raw_counts: modules.iter().any(super::debug::has_raw_counts),
            given: BTreeSet::new(),
            initial: BTreeMap::new(),
            constants: BTreeMap::new(),
            starts: BTreeMap::new(),
            plans: Vec::new(),
            planned: BTreeSet::new(),
            grown: false,
            refusal: None,
        }
    }

    pub(super) fn function_at(&self, (m, i): (usize, usize)) -> &'m Function {
        let modules: &'m [Module] = self.modules;
        &modules[m].functions[i]
    }

    pub(super) fn function_index(&self, name: &str) -> Option<(usize, usize)> {
        self.functions.get(name).copied()
    }

    pub(super) fn variable(&self, name: &str) -> Option<(usize, &'m Variable)> {
        let (m, i) = *self.variables.get(name)?;
        let modules: &'m [Module] = self.modules;
        Some((m, &modules[m].variables[i]))
    }

    /// The calls `path` and then the one at this place of the function.
    pub(super) fn path(&mut self, path: PathId, block: usize, inst: usize) -> PathId {
        let next = self.paths.len() + 1;
        *self.paths.entry((path, block, inst)).or_insert(next)
    }

    pub(super) fn object(&mut self, key: Key, size: u64, span: Span) -> ObjectId {
        if let Some(known) = self.keys.get(&key) {
            let object = &mut self.objects[*known];
            object.size = object.size.max(size);
            return *known;
        }
        let id = self.objects.len();
        self.keys.insert(key.clone(), id);
        self.objects.push(Object {
            key,
            size,
            name: None,
            span,
        });
        id
    }

    pub(super) fn known_object(&self, key: &Key) -> Option<ObjectId> {
        self.keys.get(key).copied()
    }

    pub(super) const fn address(object: ObjectId) -> i64 {
        (object as i64 + 1) * ROOM
    }

    /// The object at an address, and the offset.
    pub(super) fn at(&self, address: i64) -> Option<(ObjectId, u64)> {
        let id = usize::try_from(address / ROOM - 1).ok()?;
        (address >= ROOM && id < self.objects.len()).then_some((id, (address % ROOM) as u64))
    }

    /// The address of a symbol.
    pub(super) fn symbol(&mut self, name: &str) -> i64 {
        let (key, size) = match self.variable(name) {
            Some((_, variable)) => (Key::Static(name.to_owned()), variable.ty.size()),
            None => (Key::Function(name.to_owned()), 0),
        };
        Self::address(self.object(key, size, Span::default()))
    }

    /// Whether nobody can write to an object.
    pub(super) fn is_constant(&self, object: ObjectId) -> bool {
        match &self.objects[object].key {
            Key::Static(name) => self.variable(name).is_some_and(|(_, v)| v.constant),
            Key::Function(_) => true,
            Key::ThreadLocal(..) | Key::Heap(..) | Key::Stack(..) => false,
        }
    }

    /// Whether threads may share an object once they run.
    pub(super) fn is_shared(&self, object: ObjectId) -> bool {
        match &self.objects[object].key {
            Key::Static(_) => !self.is_constant(object),
            Key::Function(_) | Key::ThreadLocal(..) => false,
            Key::Heap(..) | Key::Stack(..) => self.shared.contains(&object),
        }
    }

    pub(super) fn share(&mut self, object: ObjectId) {
        let fixed = matches!(
            self.objects[object].key,
            Key::Static(_) | Key::Function(_) | Key::ThreadLocal(..)
        );
        if !fixed && self.shared.insert(object) {
            self.grown = true;
        }
    }

    /// What a variable of a module holds at first.
    pub(super) fn initial_content(&mut self, name: &str) -> Result<Content, String> {
        let mut content = Content::default();
        if let Some((_, variable)) = self.variable(name)
            && let Some(init) = &variable.init
        {
            self.fill(&mut content, 0, &variable.ty, init)?;
        }
        Ok(content)
    }

    fn fill(
        &mut self,
        content: &mut Content,
        at: u64,
        ty: &Type,
        init: &Const,
    ) -> Result<(), String> {
        let size = ty.size();
        match init {
            Const::Undef => Ok(()),
            Const::Zero => {
                match ty.bits() {
                    Some(bits) if bits <= 64 => content.write(at, size, 0),
                    Some(_) | None => (0..size).for_each(|i| content.write(at + i, 1, 0)),
                }
                Ok(())
            }
            Const::Int(value) => {
                let bits = ty.bits().unwrap_or(64);
                if bits > 64 {
                    content.write(at, 8, canonical(*value, 64));
                    content.write(at + 8, 8, canonical(*value >> 64, 64));
                } else {
                    content.write(at, size, canonical(*value, bits));
                }
                Ok(())
            }
            Const::Bytes(bytes) => {
                for (i, byte) in bytes.iter().enumerate() {
                    content.write(at + i as u64, 1, i64::from(*byte));
                }
                Ok(())
            }
            Const::Symbol(_) | Const::Moved(..) => {
                let address = self.constant_address(init)?;
                content.write(at, 8, address);
                Ok(())
            }
            Const::Parts(parts) => {
                for (i, (_, part)) in parts.iter().enumerate() {
                    let found = ty.part(i as u64).map(|(by, ty)| (by, ty.clone()));
                    let (by, part_ty) = found.ok_or("a constant with too many parts")?;
                    self.fill(content, at + by, &part_ty, part)?;
                }
                Ok(())
            }
            Const::Unknown(text) => Err(format!("the constant `{text}`")),
        }
    }

    /// The address that a constant is.
    pub(super) fn constant_address(&mut self, e: &Const) -> Result<i64, String> {
        match e {
            Const::Symbol(name) => Ok(self.symbol(name)),
            Const::Moved(base, by) => Ok(self.constant_address(base)? + by),
            Const::Zero => Ok(0),
            Const::Int(value) => Ok(*value as i64),
            Const::Undef | Const::Bytes(_) | Const::Parts(_) | Const::Unknown(_) => {
                Err("a constant that is no address".to_owned())
            }
        }
    }

    /// The cell at a place of a shared object; it is made if it is not known. `None` if other
    /// accesses cut the object in another way.
    pub(super) fn cell(&mut self, object: ObjectId, offset: u64, size: u64) -> Option<&mut Cell> {
        let clash = self.cells_within(object, offset, size);
        let clash = clash.iter().any(|(at, of)| (*at, *of) != (offset, size));
        if clash {
            return None;
        }
        if !self.cells.contains_key(&(object, offset)) {
            self.grown = true;
            let cell = Cell::new(size, GlobalId::from(self.cells.len()));
            self.cells.insert((object, offset), cell);
            self.spread(object, offset, size);
        }
        self.cells.get_mut(&(object, offset))
    }

    /// A cell of what is copied is a cell of what it is copied to, and the other way round.
    fn spread(&mut self, object: ObjectId, offset: u64, size: u64) {
        let end = offset + size;
        for (from, to, count) in self.copies.clone() {
            for ((a, at), (b, to)) in [(from, to), (to, from)] {
                if a == object && at <= offset && end <= at + count {
                    self.parts(b, to + (offset - at), size);
                }
            }
        }
    }

    /// The cells that some bytes of a shared object are, for an access that need not be atomic:
    /// cells that reach beyond them are cut, bytes in no cell get one. `None` if an atomic access
    /// takes as a whole what would be cut.
    pub(super) fn parts(
        &mut self,
        object: ObjectId,
        offset: u64,
        size: u64,
    ) -> Option<Vec<(u64, u64)>> {
        let end = offset + size;
        if !self.cut(object, offset) || !self.cut(object, end) {
            return None;
        }
        let mut at = offset;
        for (from, of) in self.cells_within(object, offset, size) {
            if at < from {
                self.cell(object, at, from - at);
            }
            at = from + of;
        }
        if at < end {
            self.cell(object, at, end - at);
        }
        Some(self.cells_within(object, offset, size))
    }

    /// Cuts the cell, if there is one, that has bytes on both sides of a place. What the halves hold
    /// is found out by executing the threads again.
    pub(super) fn cut(&mut self, object: ObjectId, at: u64) -> bool {
        let below = self.cells.range((object, 0)..(object, at)).next_back();
        let Some((&(_, from), cell)) = below.filter(|((_, from), cell)| from + cell.size > at)
        else {
            return true;
        };
        if self.atomic.contains(&(object, from)) {
            return false;
        }
        let (size, id) = (cell.size, cell.id);
        let next = GlobalId::from(self.cells.len());
        self.cells.insert((object, from), Cell::new(at - from, id));
        self.cells
            .insert((object, at), Cell::new(from + size - at, next));
        self.grown = true;
        for (source, to, count) in self.copies.clone() {
            for ((a, start), (b, to)) in [(source, to), (to, source)] {
                if a == object && start < at && at < start + count {
                    self.cut(b, to + (at - start));
                }
            }
        }
        true
    }

    /// Notes that bytes are copied from one shared object to another.
    pub(super) fn copied(&mut self, from: (ObjectId, u64), to: (ObjectId, u64), count: u64) {
        if from != to && self.copies.insert((from, to, count)) {
            self.grown = true;
            for (a, b) in [(from, to), (to, from)] {
                for (at, size) in self.cells_within(a.0, a.1, count) {
                    if at >= a.1 && at + size <= a.1 + count {
                        self.parts(b.0, b.1 + (at - a.1), size);
                    }
                }
            }
        }
    }

    /// The cells that overlap some bytes of an object.
    pub(super) fn cells_within(&self, object: ObjectId, from: u64, count: u64) -> Vec<(u64, u64)> {
        self.cells
            .range((object, 0)..(object, from + count))
            .map(|((_, at), cell)| (*at, cell.size))
            .filter(|(at, size)| at + size > from)
            .collect()
    }

    /// Notes what a store puts into a cell.
    pub(super) fn stored(&mut self, object: ObjectId, offset: u64, values: &Values) {
        let Some(cell) = self.cells.get_mut(&(object, offset)) else {
            return;
        };
        let mut values = values.clone();
        if let Some(mut list) = values.list() {
            let (freed, nothing) = (list.remove(&FREED), list.remove(&UNINITIALISED));
            self.grown |= (freed && !cell.freed) || (nothing && !cell.uninitialised);
            cell.freed |= freed;
            cell.uninitialised |= nothing;
            if list.is_empty() {
                return;
            }
            if freed || nothing {
                values = Values::of(list);
            }
        }
        // A word fits its cell, whatever is known of the expression.
        values = values.within(cell.size as u32 * 8);
        match &cell.values {
            Some(known) if known.includes(&values) => {}
            None => {
                cell.values = Some(values);
                self.grown = true;
            }
            Some(known) => {
                let mut joined = known.join(&values);
                cell.grown = cell.grown.saturating_add(1);
                // Numbers that grow and grow are counters; addresses are no numbers.
                if cell.grown > PATIENCE && joined.bounds().1 < ROOM {
                    joined = Values::range(joined.bounds().0, joined.bounds().1);
                }
                if cell.grown > 2 * PATIENCE && joined.list().is_none() {
                    joined = Values::all(cell.size as u32 * 8);
                }
                cell.values = Some(joined);
                self.grown = true;
            }
        }
    }
}

impl Cell {
    /// A cell of which nothing is known.
    const fn new(size: u64, id: GlobalId) -> Self {
        Self {
            size,
            values: None,
            freed: false,
            uninitialised: false,
            written: false,
            id,
            grown: 0,
        }
    }

    /// What a load may bring; with `defined`, behind a check that something was written.
    pub(super) fn known(&self, defined: bool) -> Option<Values> {
        let mark = Values::one(UNINITIALISED);
        match (&self.values, self.uninitialised && !defined) {
            (Some(values), true) => Some(values.join(&mark)),
            (Some(values), false) => Some(values.clone()),
            (None, true) => Some(mark),
            (None, false) => None,
        }
    }
}
