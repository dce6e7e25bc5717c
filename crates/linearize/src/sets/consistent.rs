//! Which views *can be*. In a view everything is definite: two nodes of it are different nodes, and a node has one
//! [`Standing`], one key class, one value of each bit. Only links may be unknown. What no heap
//! can be is left out by [`View::consistent`], from these facts about listed nodes:
//!
//! - they are a path without a cycle, so each has one predecessor at most;
//! - their keys grow, so the classes along the path are less, then at most one equal, then greater;
//! - the key is in the set exactly if a listed node with this key is not marked;
//! - a node that the call can reach has been listed at some time since the call began, and links of nodes
//!   that have left the list do not change (hindsight [O'Hearn et al., PODC 2010]). So
//!   where such a node with a smaller key leads to a greater one, or has the key itself, the key was
//!   not in the set at some time during the call.
//!
//! Links of marked nodes do not change either. So where a view leaves out marked nodes between two of its
//! nodes, it keeps that only marked nodes are between them ([`Link::Past`]), which tells what leaves the list when all of
//! them are unlinked in one step [Harris, DISC 2001].
//!
//! The analysis refuses every step that would make one of these facts wrong.

use super::view::{History, Key, Link, Mark, Node, Slot, Standing, View, ascends};

impl View {
    /// The node that a link leads to, perhaps past marked ones, if that is known and not null.
    fn target(&self, link: Link) -> Option<&Node> {
        match link {
            Link::To(to) | Link::Past(Some(to)) => Some(&self.nodes[usize::from(to)]),
            Link::Null | Link::Past(None) | Link::Unknown => None,
        }
    }

    /// Whether there is such a heap.
    pub(super) fn consistent(&self, mark: Mark) -> bool {
        self.keys_fit(mark) && self.links_fit() && self.is_path()
    }

    fn keys_fit(&self, mark: Mark) -> bool {
        let mut equal = self.nodes.iter().filter(|n| n.key == Key::Equal);
        let listed = |n: &Node| n.standing == Standing::Listed;
        let mut listed_equal = self
            .nodes
            .iter()
            .filter(|n| n.key == Key::Equal && listed(n));
        let one = listed_equal.next();
        let fits = one.is_none_or(|n| n.marked(mark) != self.inside);
        let history = equal.all(|n| !n.standing.left() || self.history.was_out || !self.judged());
        fits && listed_equal.next().is_none() && history
    }

    fn links_fit(&self) -> bool {
        let has_equal = |n: &Node| n.key == Key::Equal && n.standing == Standing::Listed;
        let mut boundary = false;
        for node in &self.nodes {
            if node.link == Link::Unknown || node.standing == Standing::Own {
                continue;
            }
            let target = self.target(node.link);
            if let Some(to) = target {
                let published = to.standing != Standing::Own;
                let closed = match node.standing {
                    Standing::Listed => to.standing == Standing::Listed,
                    Standing::Left => published && to.standing != Standing::LeftBefore,
                    Standing::LeftBefore | Standing::Own => published,
                };
                if !closed || !ascends(node.key, to.key) {
                    return false;
                }
            }
            let passes = node.key.low() && target.is_none_or(|to| to.key.high());
            if matches!(node.link, Link::Past(_)) {
                // One of the marked nodes may have the key, or be where smaller keys end.
                if node.standing == Standing::Listed && passes && self.inside {
                    return false;
                }
            } else if node.standing == Standing::Listed {
                let crosses = node.key.low() && target.is_none_or(|to| !to.key.low());
                if crosses && boundary {
                    return false;
                }
                boundary |= crosses;
                if passes && (self.inside || self.nodes.iter().any(has_equal)) {
                    return false;
                }
            } else if passes && self.judged() && !self.history.was_out {
                return false;
            }
        }
        true
    }

    /// Listed nodes are a path.
    fn is_path(&self) -> bool {
        let listed = |n: &Node| n.standing == Standing::Listed && n.link != Link::Unknown;
        for (i, node) in self.nodes.iter().enumerate().filter(|(_, n)| listed(n)) {
            let mut others = self.nodes[i + 1..].iter().filter(|n| listed(n));
            let direct = !matches!(node.link, Link::Past(_));
            if direct && others.any(|other| other.link == node.link) {
                return false;
            }
            let mut at = node.link;
            for _ in 0..self.nodes.len() {
                match at {
                    Link::To(next) | Link::Past(Some(next)) if usize::from(next) == i => {
                        return false;
                    }
                    Link::To(next) | Link::Past(Some(next)) => {
                        at = self.nodes[usize::from(next)].link;
                    }
                    Link::Null | Link::Past(None) | Link::Unknown => break,
                }
            }
        }
        true
    }

    /// Leaves out locals that do not matter, and the nodes that then do not: kept are those that
    /// locals point to or whose locks are held, and those that own nodes lead to. Gives nodes a
    /// fixed order.
    pub(super) fn reduce(mut self, live: &[bool], mark: Mark) -> Self {
        for (slot, live) in self.locals.iter_mut().zip(live) {
            if !live {
                *slot = Slot::Any;
            }
        }
        if !self.judged() {
            self.history = History::default();
        }
        let mut order: Vec<usize> = vec![0];
        let add = |order: &mut Vec<usize>, node: usize| {
            if !order.contains(&node) {
                order.push(node);
            }
        };
        for slot in &self.locals {
            if let Slot::At(node) = slot {
                add(&mut order, usize::from(*node));
            }
        }
        let mut held: Vec<usize> = (0..self.nodes.len())
            .filter(|&n| self.nodes[n].held != 0)
            .collect();
        held.sort_by_key(|&n| {
            let node = self.nodes[n];
            (node.key, node.standing, node.bits, node.held)
        });
        for node in held {
            add(&mut order, node);
        }
        let mut next = 0;
        while next < order.len() {
            let node = self.nodes[order[next]];
            if let (Standing::Own, Link::To(to)) = (node.standing, node.link) {
                add(&mut order, usize::from(to));
            }
            next += 1;
        }
        let renamed = |node: u8| order.iter().position(|&o| o == usize::from(node));
        let nodes = order.iter().map(|&old| {
            let node = self.nodes[old];
            let link = self.shortened(node.link, mark, &|n| renamed(n).is_some());
            let link = match link {
                Link::To(to) => renamed(to).map_or(Link::Unknown, |new| Link::To(new as u8)),
                Link::Past(Some(to)) => {
                    renamed(to).map_or(Link::Unknown, |new| Link::Past(Some(new as u8)))
                }
                known @ (Link::Null | Link::Past(None) | Link::Unknown) => known,
            };
            Node { link, ..node }
        });
        let nodes = nodes.collect();
        for slot in &mut self.locals {
            if let Slot::At(node) = slot {
                *slot = renamed(*node).map_or(Slot::Any, |new| Slot::At(new as u8));
            }
        }
        self.nodes = nodes;
        self
    }

    /// A link without the marked nodes that are not kept.
    fn shortened(&self, link: Link, mark: Mark, kept: &dyn Fn(u8) -> bool) -> Link {
        let mut link = link;
        for _ in 0..self.nodes.len() {
            let (Link::To(to) | Link::Past(Some(to))) = link else {
                return link;
            };
            let node = self.nodes[usize::from(to)];
            let frozen = node.marked(mark) && node.standing != Standing::Own;
            if kept(to) {
                return link;
            }
            link = match node.link {
                Link::To(next) | Link::Past(Some(next)) if frozen => Link::Past(Some(next)),
                Link::Null | Link::Past(None) if frozen => Link::Past(None),
                _ => Link::Unknown,
            };
        }
        Link::Unknown
    }
}
