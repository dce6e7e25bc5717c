//! A *fragment* of the heap: some nodes, what is known of their links, and the root. Which lists it can be part of is found by
//! trying: the listed nodes are put into every order in which they can stand in the list.
//!
//! A link of a listed node that is not known is a *gap*: any number of other nodes, none included, and then the next node of the fragment in
//! this order, or the end. A gap is *marked* if all its nodes are known to be marked.

use super::super::Refusal;
use super::super::view::{Key, Link, Mark, Node, Standing};

/// `(n, t)`: the link of `n` leads to a marked node, from which only marked nodes lead on to `t`, or to null.
pub(super) type Pasts = Vec<(u8, Option<u8>)>;

/// A fragment.
pub(super) struct Fragment<'a> {
    pub(super) nodes: &'a [Node],
    pub(super) pasts: &'a Pasts,
    pub(super) inside: bool,
    pub(super) mark: Mark,
}

/// The listed nodes as they stand in the list.
#[derive(Clone, Default)]
pub(super) struct Order {
    nodes: Vec<u8>,
    /// By position: whether a marked gap follows.
    marked_gap: Vec<bool>,
}

/// What is in the list after a step.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Walked {
    pub(super) entered: Vec<u8>,
    pub(super) left: Vec<u8>,
    /// Whether nodes of marked gaps leave.
    pub(super) unseen: bool,
    pub(super) inside: bool,
}

/// Whether a key may stand before another in the list.
const fn before(a: Key, b: Key) -> bool {
    a as u8 <= b as u8 && !matches!((a, b), (Key::Equal, Key::Equal) | (_, Key::Root))
}

/// What links say beyond where they lead.
pub(super) fn pasts(nodes: &[Node]) -> Pasts {
    let past = |(n, node): (usize, &Node)| match node.link {
        Link::Past(to) => Some((n as u8, to)),
        Link::Null | Link::To(_) | Link::Unknown => None,
    };
    nodes.iter().enumerate().filter_map(past).collect()
}

impl Fragment<'_> {
    fn node(&self, n: u8) -> Node {
        self.nodes[usize::from(n)]
    }

    fn marked(&self, n: u8) -> bool {
        self.node(n).marked(self.mark)
    }

    fn has_equal(&self) -> bool {
        let mut nodes = self.nodes.iter();
        nodes.any(|n| n.key == Key::Equal && n.standing == Standing::Listed)
    }

    /// Calls `each` for every order until it says that this is enough.
    pub(super) fn orders(&self, each: &mut dyn FnMut(&Order) -> bool) {
        let listed = |n: &&Node| n.standing == Standing::Listed && n.key == Key::Equal;
        let fits = |n: &Node| n.marked(self.mark) != self.inside;
        if !self.nodes.iter().filter(listed).all(fits) {
            return;
        }
        let mut order = Order {
            nodes: vec![0],
            marked_gap: Vec::new(),
        };
        self.place(&mut order, &[], each);
    }

    /// Whether there is a list that it can be part of.
    pub(super) fn possible(&self) -> bool {
        let mut found = false;
        self.orders(&mut |_| {
            found = true;
            false
        });
        found
    }

    /// Places what can stand behind the last; `until`: only marked nodes stand before these. Says whether to go on.
    fn place(
        &self,
        order: &mut Order,
        until: &[Option<u8>],
        each: &mut dyn FnMut(&Order) -> bool,
    ) -> bool {
        let last = *order.nodes.last().unwrap_or(&0);
        let node = self.node(last);
        let mut until = until.to_vec();
        until.extend(self.pasts.iter().filter(|(n, _)| *n == last).map(|p| p.1));
        let gap = matches!(node.link, Link::Past(_) | Link::Unknown);
        // Where the key is in, in a node that is not of the fragment, that is in a gap, and not marked.
        let hidden = self.inside && !self.has_equal();
        let skips = |next: Option<Key>| {
            let across = node.key.low() && next.is_none_or(Key::high);
            across && hidden && !(node.link == Link::Unknown && until.is_empty())
        };
        let rest = (0..self.nodes.len() as u8)
            .filter(|n| self.node(*n).standing == Standing::Listed && !order.nodes.contains(n));
        let rest: Vec<u8> = match node.link {
            Link::To(to) => rest.filter(|n| *n == to).collect(),
            Link::Null => Vec::new(),
            Link::Past(_) | Link::Unknown => rest.collect(),
        };
        order.marked_gap.push(gap && !until.is_empty());
        let all = self.nodes.iter().filter(|n| n.standing == Standing::Listed);
        let complete = order.nodes.len() == all.count();
        let ends = !matches!(node.link, Link::To(_)) && until.iter().all(Option::is_none);
        let mut more = true;
        if complete && ends && !skips(None) {
            more = each(order);
        }
        for next in rest {
            if !more {
                break;
            }
            let key = self.node(next).key;
            let allowed = until.iter().all(|t| *t == Some(next)) || self.marked(next);
            if before(node.key, key) && allowed && !skips(Some(key)) {
                let still: Vec<Option<u8>> =
                    until.iter().copied().filter(|t| *t != Some(next)).collect();
                order.nodes.push(next);
                more = self.place(order, &still, each);
                order.nodes.pop();
            }
        }
        order.marked_gap.pop();
        more
    }

    /// Whether nodes that have left the list, among the first `count`, are as a call can know them. `never_out`: the key was in
    /// the set all the time since the call began.
    pub(super) fn hindsight(&self, count: usize, never_out: bool) -> bool {
        self.nodes[..count]
            .iter()
            .filter(|n| n.standing.left())
            .all(|node| {
                let target = match node.link {
                    Link::To(to) | Link::Past(Some(to)) => Some(self.node(to)),
                    Link::Null | Link::Past(None) | Link::Unknown => None,
                };
                let reached = target.is_none_or(|to| match to.standing {
                    Standing::Own => false,
                    Standing::LeftBefore => node.standing == Standing::LeftBefore,
                    Standing::Listed | Standing::Left => true,
                });
                let sorted = target.is_none_or(|to| before(node.key, to.key));
                // Just before it left, this was the list.
                let shows_out = match node.link {
                    Link::Null => node.key.low(),
                    Link::To(to) => node.key.low() && self.node(to).key.high(),
                    Link::Past(_) | Link::Unknown => false,
                };
                reached && sorted && !(never_out && (node.key == Key::Equal || shows_out))
            })
    }

    /// The list in this order once the nodes are as in `after` (their standing is still that of before).
    pub(super) fn walk(&self, order: &Order, after: &[Node]) -> Result<Walked, Refusal> {
        let mut path = vec![0_u8];
        let mut entered = Vec::new();
        let mut at = 0_u8;
        loop {
            let node = after[usize::from(at)];
            let next = match node.link {
                Link::Null => None,
                Link::To(to) => {
                    if !before(node.key, after[usize::from(to)].key) {
                        return Err(Refusal::Unsorted);
                    }
                    Some(to)
                }
                Link::Past(_) | Link::Unknown => {
                    // A gap stays as it was.
                    let place = order.nodes.iter().position(|n| *n == at);
                    let place = place.ok_or(Refusal::Lost)?;
                    order.nodes.get(place + 1).copied()
                }
            };
            let Some(next) = next else {
                break;
            };
            if path.contains(&next) {
                return Err(Refusal::Cycle);
            }
            match after[usize::from(next)].standing {
                Standing::Listed => {}
                Standing::Own => entered.push(next),
                Standing::Left | Standing::LeftBefore => return Err(Refusal::LinkToLeft),
            }
            path.push(next);
            at = next;
        }
        let mut left = Vec::new();
        let mut unseen = false;
        for (place, &n) in order.nodes.iter().enumerate() {
            if path.contains(&n) {
                continue;
            }
            left.push(n);
            if matches!(self.node(n).link, Link::Past(_) | Link::Unknown) {
                if !order.marked_gap[place] {
                    return Err(Refusal::Lost);
                }
                unseen = true;
            }
        }
        let equal = path
            .iter()
            .find(|n| after[usize::from(**n)].key == Key::Equal);
        let inside = match equal {
            Some(n) => !after[usize::from(*n)].marked(self.mark),
            None => self.inside && !self.has_equal(),
        };
        let gone = left
            .iter()
            .any(|n| self.node(*n).key == Key::Equal && !self.marked(*n));
        if gone && inside {
            return Err(Refusal::Replaced);
        }
        Ok(Walked {
            entered,
            left,
            unseen,
            inside,
        })
    }
}

/// What may happen to a node that others can reach.
pub(super) fn allowed(old: Node, new: Node, mark: Mark) -> Result<(), Refusal> {
    if old.standing == Standing::Own {
        return Ok(());
    }
    if old.key != new.key {
        return Err(Refusal::KeyOfShared);
    }
    if old.link != new.link {
        if old.standing.left() {
            return Err(Refusal::LinkOfLeft);
        }
        if old.marked(mark) {
            return Err(Refusal::LinkOfMarked);
        }
    }
    if old.marked(mark) && !new.marked(mark) {
        return Err(Refusal::Unmarked);
    }
    Ok(())
}
