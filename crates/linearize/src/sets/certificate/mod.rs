//! The *certificate* of a proof about a set, and its check: an account of its own of what steps do to views. With the search for a
//! proof it shares the words of views (`view`), the numbers of fields and bits (`object`, looked at again in `layout`), and what is done to the
//! program before (copies of the argument, spin locks: `prove::without_aliases`, `prove::with_locks`); with the search for wrong histories the concrete semantics of
//! steps ([`crate::step`]).
//!
//! *What is checked.* One key is looked at, any one. The certificate has views, *kinds* of nodes (key class, whether listed, bits) and *links* (key
//! classes of two nodes, or of one and null). These together are an invariant: in every state that is reached,
//!
//! 1. every call that runs satisfies one of the views (see `view` for what that means);
//! 2. every node that was ever listed has one of the kinds and a link of one of the classes;
//! 3. the list is a path without a cycle that ends in null, its key classes grow (those of sentinels and of a first node without a key may repeat);
//! 4. nodes that were never listed are reached only by the call that allocated them;
//! 5. a node that was listed since a call began (since it last read the root), and is so no more, leads to such a node, to a listed one, or to null, in the
//!    order of keys. If it has the key, or has a smaller one and leads to a greater one or to null, then the key was out at some time
//!    since the call began.
//!
//! *It holds at first*: `init` is run, by the concrete semantics. *It stays*: each view of the certificate is taken through each step of the program (`own`), and
//! what it writes is noticed by each other view (`others`). The results must be covered by the certificate (`known`). The steps of a call touch
//! the nodes of its view and one more, so a `Fragment` of the heap is enough: its other nodes are in gaps, which no step looks into. For 3 the
//! list is followed after each step, with all ways in which it can have been before; a gap may be dropped only if all its nodes are
//! marked. 5 follows from what `fragment::allowed` and `fragment::Fragment::walk` insist on: links of nodes that have left do not change and they
//! do not come back; so the link is that of the moment just before the node left, when it was listed, and the call ran. A node with the key that left was marked, and the
//! key out before the step, or it was not marked, and the key is out after the step, since none takes its place. Marked nodes stay marked and keep their links, so `Link::Past` stays true.
//!
//! *No more nodes are needed* (cut-off). A list of any length satisfies a fragment exactly if it arises from one of its orders by putting nodes into
//! gaps; a step neither reads nor writes the links of nodes in gaps, nor those that lead into them; so what it does to the nodes of the fragment does not
//! depend on what is in the gaps, except whether the key is (which `inside` tells), and whether they are marked (which is known or refused).
//! A test puts further nodes into the fragments, and the same certificates are accepted (`linearize/tests/certificates.rs`).
//!
//! *Others act at every step*, except where all steps of a location are over locals, nodes that only this call has, and keys, which nobody writes once others
//! can reach them: these commute with all steps of others [Lipton, CACM 1975], and a call that returns earlier has seen less. So views at such locations need not
//! hold while others act; it is as if the call had taken these steps at once (`is_private`).
//!
//! *What follows.* Every `return` was judged: a call that says that it changed the set did so itself, once, in one step; every other call
//! found the key in, or out, as it says at some time while it ran. So its history is linearizable for this key, and with all keys by locality
//! (`sets`).
//!
//! | file | |
//! |---|---|
//! | `fragment` | lists that have these nodes |
//! | `own` | steps of the call itself |
//! | `others` | what other calls notice |
//! | `known` | covered views |
//! | `layout` | what the program's memory is |
//! | `text` | the certificate as text |
//! | `close` | what the check accepts at all, for tests |

mod close;
mod fragment;
mod known;
mod layout;
mod others;
mod own;
mod text;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};

use palisade_program::Span;

use palisade_program::heap::{Body, Place, Program, Step, Type, print};

use self::known::Known;
use self::others::{Action, Seen};
use self::own::{Stepper, Taken};
use super::Refusal;
use super::object::{Object, Word};
use super::view::{History, Key, Link, Mark, Node, Slot, Standing, View, marked};
use crate::code::Code;
use crate::options::Reclaim;
use crate::prove::{with_locks, without_aliases};
use crate::step::{Outcome, Rules, run};
use crate::value::{Memory, Value};

pub use close::close;
pub use text::{Malformed, is_certificate, parse};

/// States of `init` at most.
const INIT_STEPS: usize = 10_000;
/// Nodes of a view at most.
const NODES: usize = 30;

/// What is true of all nodes that others can reach.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Facts {
    /// Key class, whether it is listed, bits.
    pub(super) kinds: BTreeSet<(Key, bool, u8)>,
    /// Key classes of a node and the one that its link leads to; `None` is null.
    pub(super) links: BTreeSet<(Key, Option<Key>)>,
}

/// A proof that can be checked again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Certificate {
    /// Of the program.
    pub(super) fingerprint: u128,
    /// Whether spin locks of the program are taken for locks.
    pub(super) locks: bool,
    pub(super) mark: Mark,
    pub(super) facts: Facts,
    pub(super) views: Vec<View>,
}

/// What a check has looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Checked {
    /// Views of the certificate.
    pub views: usize,
    /// Steps of calls.
    pub steps: usize,
    /// Kinds of steps that others notice.
    pub actions: usize,
    /// Views that others' steps make.
    pub noticed: usize,
}

/// Why a certificate is refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Objection {
    /// What is wrong.
    pub what: What,
    /// In which method.
    pub method: String,
    /// At which step.
    pub span: Span,
}

/// What is wrong with a certificate.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum What {
    /// It is one of another program.
    Fingerprint,
    /// The program is none that such certificates are for.
    Unsupported,
    /// A view is not one of this program.
    Shape,
    /// `init` does what is not understood, or leaves something else than an empty set of nodes that are told.
    Init,
    /// The view of a call that begins is missing.
    Begin,
    /// A step is wrong, or not understood.
    Step(Refusal),
    /// The view after a step is missing.
    After,
    /// A kind of nodes, or of links, is missing.
    Kind,
    /// A view that another call's step makes is missing.
    Noticed,
    /// A step of another call is not understood.
    Other(Refusal),
    /// The check was stopped.
    Stopped,
}

impl std::fmt::Display for What {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Fingerprint => "it is for another program",
            Self::Unsupported => "there are no certificates for such programs",
            Self::Shape => "a view does not fit the program",
            Self::Init => "`init` leaves what it does not tell",
            Self::Begin => "the view of a call that begins is missing",
            Self::Step(refusal) => return write!(f, "at a step {refusal}"),
            Self::After => "the view after a step is missing",
            Self::Kind => "a kind of nodes or links is missing",
            Self::Noticed => "a view that a step of another call makes is missing",
            Self::Other(refusal) => return write!(f, "by a step of another call {refusal}"),
            Self::Stopped => "the check was stopped",
        })
    }
}

/// A hash of the program's steps, types and names, without places in the text.
pub(crate) fn fingerprint(program: &Program) -> u128 {
    let mut hash = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d_u128;
    for byte in print::program(program).bytes() {
        hash ^= u128::from(byte);
        hash = hash.wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
    }
    hash
}

/// Whether a step commutes with all steps of other calls.
fn is_private(step: &Step, object: &Object<'_>) -> bool {
    match step {
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
        Step::Read { from, .. } => object.word(*from) == Word::Key,
        Step::Write { .. } | Step::Cas { .. } | Step::Lock(_) | Step::Unlock(_) => false,
    }
}

/// Where others may act: not inside atomic blocks, nor where all steps are private. Where a step leads into an atomic block, they
/// act before it.
fn open(body: &Body, object: &Object<'_>) -> Vec<bool> {
    let mut open: Vec<bool> = body.locations.iter().map(|_| false).collect();
    for edge in &body.edges {
        let enters = body.locations[edge.to.index()].atomic;
        let waits = !body.locations[edge.from.index()].atomic;
        open[edge.from.index()] |= waits && (enters || !is_private(&edge.step, object));
    }
    open
}

impl Certificate {
    /// How many views it has.
    pub fn views(&self) -> usize {
        self.views.len()
    }

    /// Checks it: whether the program is a linearizable set, for any number of threads, nodes and values.
    ///
    /// # Errors
    /// Why it does not show that.
    pub fn check(
        &self,
        program: &Program,
        cancel: Option<&AtomicBool>,
    ) -> Result<Checked, Objection> {
        self.check_with(program, 0, cancel)
    }

    /// The same with so many further nodes in each fragment, of all kinds: that changes nothing, which is a test of the cut-off.
    ///
    /// # Errors
    /// Why it does not show that.
    pub fn check_with(
        &self,
        program: &Program,
        more: usize,
        cancel: Option<&AtomicBool>,
    ) -> Result<Checked, Objection> {
        if fingerprint(program) != self.fingerprint {
            return Err(plain(What::Fingerprint));
        }
        let mut program = without_aliases(program);
        if self.locks {
            program = with_locks(&program);
        }
        let object = Object::of(&program).map_err(|_| plain(What::Unsupported))?;
        if !layout::agrees(&object) {
            return Err(plain(What::Unsupported));
        }
        if !self.views.iter().all(|view| fits(view, &object)) || !self.mark_fits(&object) {
            return Err(plain(What::Shape));
        }
        let known = Known::of(&self.views, self.mark);
        // In the order that the check uses, and each once.
        let views: BTreeSet<View> = self.views.iter().map(|v| known.forget(v.clone())).collect();
        let mut views: Vec<View> = views.into_iter().collect();
        for _ in 0..more {
            views = views
                .iter()
                .flat_map(|view| self.with_one_more(view))
                .collect();
        }
        let check = Check {
            certificate: self,
            object: &object,
            known,
            views,
            cancel,
        };
        check.run()
    }

    /// The same for another program: to be refused, in tests.
    #[must_use]
    pub fn forged(self, program: &Program) -> Self {
        Self {
            fingerprint: fingerprint(program),
            ..self
        }
    }

    /// The view, and all that have one node more.
    fn with_one_more(&self, view: &View) -> Vec<View> {
        let mut ways = vec![view.clone()];
        for &(key, listed, bits) in self.facts.kinds.iter().filter(|kind| kind.0 != Key::Root) {
            let standings: &[Standing] = if listed {
                &[Standing::Listed]
            } else {
                &[Standing::Left, Standing::LeftBefore]
            };
            for &standing in standings {
                let mut way = view.clone();
                way.nodes.push(Node {
                    key,
                    standing,
                    bits,
                    held: 0,
                    link: Link::Unknown,
                });
                ways.push(way);
            }
        }
        ways
    }

    fn mark_fits(&self, object: &Object<'_>) -> bool {
        self.mark.is_none_or(|(bit, _)| bit < object.bits)
    }
}

const fn plain(what: What) -> Objection {
    Objection {
        what,
        method: String::new(),
        span: Span { start: 0, end: 0 },
    }
}

/// Whether numbers of a view are those of something.
fn fits(view: &View, object: &Object<'_>) -> bool {
    let Some(part) = object.parts.get(usize::from(view.method)) else {
        return false;
    };
    let count = view.nodes.len();
    let is_node = |n: u8| usize::from(n) < count;
    let link = |link: Link| match link {
        Link::To(n) | Link::Past(Some(n)) => n > 0 && is_node(n),
        Link::Null | Link::Past(None) | Link::Unknown => true,
    };
    let typed = |(slot, ty): (&Slot, Type)| match (slot, ty) {
        (Slot::Any, _) | (Slot::Null, Type::Pointer(_)) | (Slot::Bool(_), Type::Bool) => true,
        (Slot::At(n), Type::Pointer(_)) => *n > 0 && is_node(*n),
        (Slot::Key(key), Type::Data) => *key != Key::Root,
        (Slot::Empty, Type::Data) => true,
        (Slot::Null | Slot::At(_) | Slot::Bool(_) | Slot::Key(_) | Slot::Empty, _) => false,
    };
    let types = part.body.locals.iter().map(|l| l.ty);
    let root = view.nodes.first().is_some_and(|root| {
        (root.key, root.standing, root.bits, root.held) == (Key::Root, Standing::Listed, 0, 0)
    });
    let others = view.nodes.iter().skip(1).all(|n| n.key != Key::Root);
    part.operation.is_some()
        && usize::from(view.at) < part.body.locations.len()
        && matches!(view.argument, Key::Less | Key::Equal | Key::Greater)
        && view.locals.len() == part.body.locals.len()
        && count <= NODES
        && view.nodes.iter().all(|n| link(n.link))
        && view.locals.iter().zip(types).all(typed)
        && root
        && others
}

struct Check<'a> {
    certificate: &'a Certificate,
    object: &'a Object<'a>,
    known: Known,
    views: Vec<View>,
    cancel: Option<&'a AtomicBool>,
}

impl Check<'_> {
    fn run(&self) -> Result<Checked, Objection> {
        let mut checked = Checked {
            views: self.certificate.views.len(),
            ..Checked::default()
        };
        // Whether the key is in, shared bits: whenever a call can begin.
        let Facts { kinds, links } = &self.certificate.facts;
        let bits = init(self.object, &mut |kind, link| {
            kind.is_none_or(|kind| kinds.contains(&kind)) && links.contains(&link)
        })?;
        let mut starts = BTreeSet::from([(false, bits)]);
        let mut actions = BTreeMap::new();
        let codes: Vec<Code<'_>> = self
            .object
            .parts
            .iter()
            .map(|p| Code::new(p.body))
            .collect();
        for view in self.views.iter().filter(|view| self.can_be(view)) {
            self.go_on()?;
            let code = &codes[usize::from(view.method)];
            for &e in code.leaving(usize::from(view.at).into()) {
                let span = code.body.edges[e].span;
                let taken = self.step(view, e);
                for taken in taken.map_err(|what| self.objection(what, view, span))? {
                    checked.steps += 1;
                    starts.insert((taken.after.inside, taken.after.bits));
                    let action = Action::of(&taken);
                    let action = action.map_err(|no| self.objection(What::Step(no), view, span))?;
                    if let Some(action) = action {
                        actions.entry(action).or_insert((view.method, span));
                    }
                }
            }
        }
        self.begin(&starts)?;
        checked.actions = actions.len();
        checked.noticed = self.notice(&actions)?;
        Ok(checked)
    }

    fn go_on(&self) -> Result<(), Objection> {
        if self.cancel.is_some_and(|c| c.load(Ordering::Relaxed)) {
            return Err(plain(What::Stopped));
        }
        Ok(())
    }

    fn objection(&self, what: What, view: &View, span: Span) -> Objection {
        Objection {
            what,
            method: self.object.parts[usize::from(view.method)].name.to_owned(),
            span,
        }
    }

    fn stepper(&self) -> Stepper<'_> {
        Stepper {
            object: self.object,
            mark: self.certificate.mark,
            facts: &self.certificate.facts,
        }
    }

    /// Whether any heap satisfies a view.
    fn can_be(&self, view: &View) -> bool {
        self.stepper().possible(view, &fragment::pasts(&view.nodes))
    }

    /// A step of a view; the results are covered.
    fn step(&self, view: &View, edge: usize) -> Result<Vec<Taken>, What> {
        let part = &self.object.parts[usize::from(view.method)];
        let edge = &part.body.edges[edge];
        let all = self.stepper().take(view, edge).map_err(What::Step)?;
        for taken in &all {
            if !self.are_told(taken) {
                return Err(What::Kind);
            }
            let ended = edge.to == part.body.exit;
            if !ended && !self.known.covers(&taken.after) {
                return Err(What::After);
            }
        }
        Ok(all)
    }

    /// Whether kinds of nodes and links after a step are told.
    fn are_told(&self, taken: &Taken) -> bool {
        let Facts { kinds, links } = &self.certificate.facts;
        let nodes = &taken.after.nodes;
        let told = |node: &Node| {
            let listed = node.standing == Standing::Listed;
            let kind = node.key == Key::Root || kinds.contains(&(node.key, listed, node.bits));
            let link = match node.link {
                Link::Null => links.contains(&(node.key, None)),
                Link::To(to) => links.contains(&(node.key, Some(nodes[usize::from(to)].key))),
                Link::Past(_) | Link::Unknown => true,
            };
            node.standing == Standing::Own || kind && link
        };
        // Those that leave from marked gaps are marked, more is not known of them.
        let gone = |&(key, listed, bits): &(Key, bool, u8)| {
            !listed || !marked(bits, self.certificate.mark) || kinds.contains(&(key, false, bits))
        };
        nodes.iter().all(told) && (!taken.unseen || kinds.iter().all(gone))
    }

    /// Calls begin at any time.
    fn begin(&self, starts: &BTreeSet<(bool, u8)>) -> Result<(), Objection> {
        for &start in starts {
            for view in entries(self.object, start) {
                if !self.known.covers(&view) {
                    return Err(self.objection(What::Begin, &view, Span::default()));
                }
            }
        }
        Ok(())
    }

    /// All calls notice all steps of others; the results are covered.
    fn notice(&self, actions: &BTreeMap<Action, (u8, Span)>) -> Result<usize, Objection> {
        let parts = self.object.parts.iter();
        let open: Vec<Vec<bool>> = parts.map(|p| open(p.body, self.object)).collect();
        let mut groups: BTreeMap<Seen, Vec<&View>> = BTreeMap::new();
        for view in &self.views {
            if !open[usize::from(view.method)][usize::from(view.at)] {
                continue;
            }
            let seen = Seen::of(view);
            groups.entry(seen).or_default().push(view);
        }
        let mut noticed = 0;
        let mut ways = Vec::new();
        for (seen, views) in groups {
            self.go_on()?;
            for (action, &(_, span)) in actions {
                ways.clear();
                let understood = action.noticed(&seen, self.certificate.mark, &mut ways);
                understood.map_err(|no| self.objection(What::Other(no), views[0], span))?;
                for way in &ways {
                    for view in &views {
                        noticed += 1;
                        if !self.known.covers(&way.view(view)) {
                            return Err(self.objection(What::Noticed, view, span));
                        }
                    }
                }
            }
        }
        Ok(noticed)
    }
}

/// The views of calls that begin: whether the key is in, shared bits.
fn entries(object: &Object<'_>, (inside, bits): (bool, u8)) -> Vec<View> {
    let first = |ty: Type| match ty {
        Type::Pointer(_) | Type::Lock => Slot::Null,
        Type::Bool => Slot::Bool(false),
        Type::Data => Slot::Key(Key::Unset),
        Type::Int => Slot::Any,
    };
    let mut views = Vec::new();
    for (method, part) in object.parts.iter().enumerate() {
        if part.operation.is_none() {
            continue;
        }
        for argument in [Key::Less, Key::Equal, Key::Greater] {
            let mut locals: Vec<Slot> = part.body.locals.iter().map(|l| first(l.ty)).collect();
            locals[0] = Slot::Key(argument);
            views.push(View {
                method: method as u8,
                at: part.body.entry.index() as u16,
                argument,
                inside,
                history: History {
                    was_in: inside,
                    was_out: !inside,
                    done: false,
                },
                bits,
                held: 0,
                locals,
                nodes: vec![Node {
                    key: Key::Root,
                    standing: Standing::Listed,
                    bits: 0,
                    held: 0,
                    link: Link::Unknown,
                }],
            });
        }
    }
    views
}

/// A kind of node, and a class of links.
type Kind = (Key, bool, u8);
type Leads = (Key, Option<Key>);

/// Runs `init`: it must leave an empty set, sorted, its nodes and their links of kinds that are told, and no lock held. Gives the shared bits.
fn init(
    object: &Object<'_>,
    told: &mut dyn FnMut(Option<Kind>, Leads) -> bool,
) -> Result<u8, Objection> {
    let program = object.program;
    let no = || plain(What::Init);
    let mut memory = Memory::new(&program.shared);
    if let Some(body) = &program.init {
        memory = ran(program, body, memory).ok_or_else(no)?;
    }
    let mut bits = 0;
    for (index, cell) in memory.shared.iter().enumerate() {
        match object.word(Place::Shared(index.into())) {
            Word::Bit(bit) => bits |= u8::from(cell.value == Value::Bool(true)) << bit,
            Word::Lock(_) if cell.value != Value::Null => return Err(no()),
            Word::Link | Word::Key | Word::Lock(_) | Word::Number | Word::Unused => {}
        }
    }
    let mut from = Key::Root;
    let mut at = memory.shared(object.root());
    let mut seen = BTreeSet::new();
    while let Value::Node(n) = at {
        let node = memory.nodes.get(n as usize).ok_or_else(no)?;
        let (mut key, mut next, mut bits, mut free) = (Key::Unset, Value::Null, 0, true);
        for (cell, word) in node.words.iter().zip(object.fields()) {
            match word {
                Word::Link => {
                    next = cell.value;
                    let bit = object.mark.filter(|_| cell.tag == Value::Bool(true));
                    bits |= bit.map_or(0, |bit| 1 << bit);
                }
                Word::Key => match cell.value {
                    Value::Undefined => key = Key::Unset,
                    Value::Least => key = Key::Least,
                    Value::Greatest => key = Key::Greatest,
                    // No call has given a key yet.
                    _ => return Err(no()),
                },
                Word::Bit(bit) => bits |= u8::from(cell.value == Value::Bool(true)) << bit,
                Word::Lock(_) => free &= cell.value == Value::Null,
                Word::Number | Word::Unused => {}
            }
        }
        let sorted = from as u8 <= key as u8;
        if !seen.insert(n) || !free || !sorted || !told(Some((key, true, bits)), (from, Some(key)))
        {
            return Err(no());
        }
        (from, at) = (key, next);
    }
    if at != Value::Null || !told(None, (from, None)) {
        return Err(no());
    }
    Ok(bits)
}

/// Memory after `init`, which does not choose and comes to its end.
fn ran(program: &Program, body: &Body, mut memory: Memory) -> Option<Memory> {
    let code = Code::new(body);
    let rules = Rules {
        structs: &program.structs,
        reclaim: Reclaim::Never,
        numbers: 1,
        nodes: NODES,
    };
    let (mut at, mut locals) = (body.entry, code.defaults.clone());
    for _ in 0..INIT_STEPS {
        if at == body.exit {
            return Some(memory);
        }
        let mut ways = Vec::new();
        for &e in code.leaving(at) {
            let edge = &body.edges[e];
            if matches!(edge.step, Step::Havoc { .. }) {
                return None;
            }
            match run(&edge.step, body, &memory, &locals, 0, &rules) {
                Outcome::Done(done) => ways.extend(done.into_iter().map(|way| (edge.to, way))),
                Outcome::Blocked => {}
                Outcome::Wrong(_) => return None,
            }
        }
        // One way only: a choice would be several first states.
        let [_] = ways.as_slice() else {
            return None;
        };
        let (to, (after, values)) = ways.pop()?;
        (at, memory, locals) = (to, after, values);
    }
    None
}
