//! The views of a certificate, and whether a view is *covered*: one of the certificate's says the same, or less.
//!
//! Before they are compared, views forget what the certificate's views at this location do not tell: locals, and
//! nodes to which no local leads any more. To forget is to say less, so it is always right.

use rustc_hash::FxHashMap;

use super::super::view::{History, Link, Mark, Node, Slot, Standing, View};

/// Locals that are told, by method and location.
pub(super) type Told = FxHashMap<(u8, u16), Vec<bool>>;

/// The views of a certificate.
pub(super) struct Known {
    mark: Mark,
    told: Told,
    /// Links, by everything else.
    links: FxHashMap<Vec<u8>, Vec<Vec<Link>>>,
}

impl Known {
    pub(super) fn of(views: &[View], mark: Mark) -> Self {
        let mut told = Told::default();
        for view in views {
            let none = || vec![false; view.locals.len()];
            let told = told.entry((view.method, view.at)).or_insert_with(none);
            for (told, slot) in told.iter_mut().zip(&view.locals) {
                *told |= *slot != Slot::Any;
            }
        }
        let mut known = Self::telling(told, mark);
        for view in views {
            known.add(view);
        }
        known
    }

    /// No views yet, but which locals they will tell.
    pub(super) fn telling(told: Told, mark: Mark) -> Self {
        Self {
            mark,
            told,
            links: FxHashMap::default(),
        }
    }

    pub(super) fn add(&mut self, view: &View) {
        let view = self.forget(view.clone());
        let links = links_of(&view);
        let all = self.links.entry(encoded(&view)).or_default();
        if !all.contains(&links) {
            all.push(links);
        }
    }

    /// Whether one of the views says the same, or less.
    pub(super) fn covers(&self, view: &View) -> bool {
        let view = self.forget(view.clone());
        let links = links_of(&view);
        let less = |known: &Vec<Link>| {
            let mut pairs = known.iter().zip(&links);
            pairs.all(|(known, link)| *known == Link::Unknown || known == link)
        };
        self.links
            .get(&encoded(&view))
            .is_some_and(|all| all.iter().any(less))
    }

    /// The view without what is not told, its nodes in the order in which locals lead to them.
    pub(super) fn forget(&self, mut view: View) -> View {
        if let Some(told) = self.told.get(&(view.method, view.at)) {
            for (slot, told) in view.locals.iter_mut().zip(told) {
                if !told {
                    *slot = Slot::Any;
                }
            }
        }
        if !view.judged() {
            view.history = History::default();
        }
        let mut kept: Vec<u8> = vec![0];
        let locals = view.locals.iter().filter_map(|slot| match slot {
            Slot::At(n) => Some(*n),
            Slot::Null | Slot::Bool(_) | Slot::Key(_) | Slot::Empty | Slot::Any => None,
        });
        let mut held: Vec<u8> = (0..view.nodes.len() as u8)
            .filter(|n| view.nodes[usize::from(*n)].held != 0)
            .collect();
        held.sort_by_key(|n| {
            let node = view.nodes[usize::from(*n)];
            (node.key, node.standing, node.bits, node.held)
        });
        for n in locals.chain(held) {
            if !kept.contains(&n) {
                kept.push(n);
            }
        }
        // Nobody else knows where own nodes lead.
        let mut next = 0;
        while next < kept.len() {
            let node = view.nodes[usize::from(kept[next])];
            if let (Standing::Own, Link::To(to)) = (node.standing, node.link)
                && !kept.contains(&to)
            {
                kept.push(to);
            }
            next += 1;
        }
        let new = |old: u8| kept.iter().position(|n| *n == old).map(|n| n as u8);
        let nodes = kept.iter().map(|&old| {
            let node = view.nodes[usize::from(old)];
            let link = shortened(&view.nodes, node.link, self.mark, &|n| new(n).is_some());
            let link = match link {
                Link::To(to) => new(to).map_or(Link::Unknown, Link::To),
                Link::Past(Some(to)) => new(to).map_or(Link::Unknown, |to| Link::Past(Some(to))),
                Link::Null | Link::Past(None) | Link::Unknown => link,
            };
            Node { link, ..node }
        });
        let nodes = nodes.collect();
        for slot in &mut view.locals {
            if let Slot::At(n) = slot {
                *slot = new(*n).map_or(Slot::Any, Slot::At);
            }
        }
        view.nodes = nodes;
        view
    }
}

/// A link as far as the nodes that are kept tell it: marked nodes between may be left out.
pub(super) fn shortened(nodes: &[Node], link: Link, mark: Mark, kept: &dyn Fn(u8) -> bool) -> Link {
    let mut link = link;
    for _ in 0..=nodes.len() {
        let (Link::To(to) | Link::Past(Some(to))) = link else {
            return link;
        };
        if kept(to) {
            return link;
        }
        let node = nodes[usize::from(to)];
        if !node.marked(mark) || node.standing == Standing::Own {
            return Link::Unknown;
        }
        link = match node.link {
            Link::To(next) | Link::Past(Some(next)) => Link::Past(Some(next)),
            Link::Null | Link::Past(None) => Link::Past(None),
            Link::Unknown => Link::Unknown,
        };
    }
    Link::Unknown
}

/// Links of nodes that others can reach; those of own nodes are told exactly.
fn links_of(view: &View) -> Vec<Link> {
    let shared = view.nodes.iter().filter(|n| n.standing != Standing::Own);
    shared.map(|n| n.link).collect()
}

/// Everything else as bytes.
fn encoded(view: &View) -> Vec<u8> {
    let history = view.history;
    let flags = u8::from(view.inside)
        | u8::from(history.was_in) << 1
        | u8::from(history.was_out) << 2
        | u8::from(history.done) << 3;
    let [low, high] = view.at.to_le_bytes();
    let mut bytes = vec![
        view.method,
        low,
        high,
        view.argument as u8,
        flags,
        view.bits,
        view.held,
    ];
    for slot in &view.locals {
        bytes.extend(match slot {
            Slot::Null => [0, 0],
            Slot::At(n) => [1, *n],
            Slot::Bool(value) => [2, u8::from(*value)],
            Slot::Key(key) => [3, *key as u8],
            Slot::Empty => [4, 0],
            Slot::Any => [5, 0],
        });
    }
    for node in &view.nodes {
        bytes.extend([node.key as u8, node.standing as u8, node.bits, node.held]);
        if node.standing == Standing::Own {
            bytes.extend(match node.link {
                Link::Null => [0, 0],
                Link::To(n) => [1, n],
                Link::Past(Some(n)) => [2, n],
                Link::Past(None) => [3, 0],
                Link::Unknown => [4, 0],
            });
        }
    }
    bytes
}
