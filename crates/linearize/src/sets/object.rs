//! The *object* that is looked at: which shared pointer is the root, which field is the link, which the key;
//! numbers of bits and locks. What the analysis has no words for is [`Unsupported`].

use palisade_program::heap::{Body, Operation, Place, Program, Specification, Step, Tag, Type};
use palisade_program::{FieldId, SharedId, Span, StructId};

use crate::code::Code;
use crate::prove::places::keep_neighbours;
use crate::prove::supported::refuse;
use crate::prove::{Unsupported, touched};

/// Views keep numbers of methods and locations in few bytes: programs have at most so many.
const MOST_METHODS: usize = 100;
const MOST_LOCATIONS: usize = 10_000;
/// Fields of a node, or shared variables, at most.
const MOST_VARIABLES: usize = 100;

/// What a word of memory is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Word {
    /// The link of a node; of the root.
    Link,
    /// The key of a node.
    Key,
    /// A bit of a node, a shared one.
    Bit(u8),
    /// A lock of a node, a shared one.
    Lock(u8),
    /// A number: nothing is known of it.
    Number,
    /// A pointer that no call uses.
    Unused,
}

/// A body, and where other threads are not waited for.
pub(super) struct Part<'a> {
    pub(super) name: &'a str,
    pub(super) body: &'a Body,
    pub(super) code: Code<'a>,
    /// Locals that matter, by location: also those that tell where what others hold was read.
    pub(super) live: Vec<Vec<bool>>,
    /// `None` for `init`.
    pub(super) operation: Option<Operation>,
    /// Whether others may act here: not where all steps are over locals and keys, which do not change once they
    /// can be reached. Such steps commute with those of others, and to return earlier is only harder.
    pub(super) open: Vec<bool>,
}

/// The object.
pub(super) struct Object<'a> {
    pub(super) program: &'a Program,
    /// The methods, then `init` if there is one.
    pub(super) parts: Vec<Part<'a>>,
    fields: Vec<Word>,
    shared: Vec<Word>,
    /// The bit of the mark beside links.
    pub(super) mark: Option<u8>,
    /// Bits of nodes.
    pub(super) bits: u8,
}

impl<'a> Object<'a> {
    pub(super) fn of(program: &'a Program) -> Result<Self, Unsupported> {
        if program.specification != Specification::Set {
            return refuse("a specification other than `set`", Span::default());
        }
        if let Some(never) = program.nevers.first() {
            return refuse("`never` about a set", never.span);
        }
        if let Some(kept) = program.kept.first() {
            return refuse("a variable that threads keep between calls", kept.span);
        }
        let [only] = program.structs.as_slice() else {
            return refuse("a set with more or less than one struct", Span::default());
        };
        let bodies = program.methods.iter().map(|m| &m.body).chain(&program.init);
        let longest = bodies.map(|body| body.locations.len()).max();
        if only.fields.len() > MOST_VARIABLES
            || program.methods.len() > MOST_METHODS
            || longest > Some(MOST_LOCATIONS)
        {
            return refuse("a set of this size", only.span);
        }
        let mut object = Self {
            program,
            parts: Vec::new(),
            fields: Vec::new(),
            shared: Vec::new(),
            mark: None,
            bits: 0,
        };
        let (mut links, mut keys, mut locks) = (0, 0, 0);
        for field in &only.fields {
            let word = match (field.ty, field.tag) {
                (Type::Pointer(to), tag) if to == StructId::from(0) && links == 0 => {
                    links += 1;
                    if tag == Some(Tag::Mark) {
                        object.mark = Some(object.bits);
                        object.bits += 1;
                    }
                    Word::Link
                }
                (Type::Data, _) if keys == 0 => {
                    keys += 1;
                    Word::Key
                }
                (Type::Bool, _) => {
                    object.bits += 1;
                    Word::Bit(object.bits - 1)
                }
                (Type::Int, _) => Word::Number,
                (Type::Lock, _) => {
                    locks += 1;
                    Word::Lock(locks - 1)
                }
                (Type::Pointer(_), _) => {
                    return refuse("a set whose nodes have several pointers", field.span);
                }
                (Type::Data, _) => {
                    return refuse("a set whose nodes have several data fields", field.span);
                }
            };
            object.fields.push(word);
        }
        object.shared(program)?;
        if links == 0 || keys == 0 {
            return refuse("a set whose nodes have no key or no link", only.span);
        }
        if object.bits > 8 || locks > 8 {
            return refuse("a set with so many fields", only.span);
        }
        for method in &program.methods {
            let part = part(&method.name, &method.body, Some(method.operation), &object);
            object.parts.push(part);
        }
        if let Some(init) = &program.init {
            let part = part("init", init, None, &object);
            object.parts.push(part);
        }
        Ok(object)
    }

    fn shared(&mut self, program: &Program) -> Result<(), Unsupported> {
        if program.shared.len() > MOST_VARIABLES {
            return refuse("a set with so many shared variables", Span::default());
        }
        let (mut roots, mut bits, mut locks) = (0, 0, 0);
        for (index, shared) in program.shared.iter().enumerate() {
            let id = SharedId::from(index);
            let word = match shared.ty {
                Type::Pointer(_) if !touched(program, id) => Word::Unused,
                Type::Pointer(_) => {
                    roots += 1;
                    if roots > 1 {
                        return refuse("a set with two shared pointers", shared.span);
                    }
                    // Calls begin without knowing it.
                    if shared.tag.is_some() {
                        return refuse(
                            "a mark or count beside the shared pointer of a set",
                            shared.span,
                        );
                    }
                    Word::Link
                }
                Type::Bool => {
                    bits += 1;
                    Word::Bit(bits - 1)
                }
                Type::Lock => {
                    locks += 1;
                    Word::Lock(locks - 1)
                }
                Type::Int => Word::Number,
                Type::Data => {
                    return refuse("a shared variable of type data in a set", shared.span);
                }
            };
            self.shared.push(word);
        }
        if roots == 0 {
            return refuse("a set without a shared pointer", Span::default());
        }
        if bits > 8 || locks > 8 {
            return refuse("a set with so many shared variables", Span::default());
        }
        Ok(())
    }

    pub(super) fn word(&self, place: Place) -> Word {
        match place {
            Place::Shared(id) => self.shared[id.index()],
            Place::Field { field, .. } => self.field(field),
        }
    }

    /// What the fields of nodes are.
    pub(super) fn fields(&self) -> impl Iterator<Item = Word> {
        self.fields.iter().copied()
    }

    fn field(&self, field: FieldId) -> Word {
        self.fields[field.index()]
    }

    /// Shared bits at the start.
    pub(super) fn first_bits(&self) -> u8 {
        let mut bits = 0;
        for (word, shared) in self.shared.iter().zip(&self.program.shared) {
            if let (Word::Bit(bit), palisade_program::heap::Term::Bool(true)) = (word, shared.init)
            {
                bits |= 1 << bit;
            }
        }
        bits
    }

    /// The shared pointer that leads to the list.
    pub(super) fn root(&self) -> SharedId {
        let found = self.shared.iter().position(|word| *word == Word::Link);
        // `of` has found one.
        SharedId::from(found.unwrap_or(0))
    }
}

fn part<'a>(
    name: &'a str,
    body: &'a Body,
    operation: Option<Operation>,
    object: &Object<'_>,
) -> Part<'a> {
    let local = |step: &Step| match step {
        Step::Skip
        | Step::Fence
        | Step::Assume(_)
        | Step::Assign { .. }
        | Step::Havoc { .. }
        | Step::New { .. }
        | Step::Free(_)
        | Step::Compute { .. }
        | Step::Fail(_)
        | Step::Return(_) => true,
        Step::Read { from, .. } => matches!(object.word(*from), Word::Key),
        Step::Write { .. } | Step::Cas { .. } | Step::Lock(_) | Step::Unlock(_) => false,
    };
    let mut open = vec![false; body.locations.len()];
    for edge in &body.edges {
        let here = body.locations[edge.from.index()];
        // A local step commutes with those of others, unless what follows it is one step with it.
        let enters = body.locations[edge.to.index()].atomic;
        let is_seen = enters || !local(&edge.step);
        open[edge.from.index()] |= is_seen && !here.atomic && operation.is_some();
    }
    let code = Code::new(body);
    let mut live = code.live().to_vec();
    if let Some(link) = object.fields().position(|word| word == Word::Link) {
        keep_neighbours(body, FieldId::from(link), &mut live);
    }
    Part {
        name,
        body,
        code,
        live,
        operation,
        open,
    }
}
