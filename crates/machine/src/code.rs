//! Compiled expressions: `self` replaced by its number, locals and cells by
//! *slots* of the state, trees flattened into one table. Evaluation means the
//! same as [`Expr::eval`], overflow included.

use palisade_program::{BinOp, EvalError, Expr, UnOp, expr};

use crate::state::State;

/// What an atom of a compiled expression reads.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Atom {
    /// A constant.
    Const(i64),
    /// A slot of the state.
    Slot(u32),
    /// 1 if the thread is at the location.
    At {
        /// Index of the thread.
        thread: u32,
        /// The location.
        loc: u32,
    },
}

#[derive(Clone, Copy, Debug)]
enum Node {
    Const(i64),
    Slot(u32),
    At { thread: u32, loc: u32 },
    Unary(UnOp, u32),
    Binary(BinOp, u32, u32),
    Cond(u32, u32, u32),
}

/// A compiled expression; the common small forms do without the table.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Code {
    /// A constant.
    Const(i64),
    /// A slot.
    Slot(u32),
    /// A slot and a constant.
    SlotConst(BinOp, u32, i64),
    /// The tree with this root.
    Tree(u32),
}

/// The table of all nodes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    nodes: Vec<Node>,
}

impl Table {
    /// Compiles `e`.
    pub(crate) fn compile<A>(&mut self, e: &Expr<A>, atom: &impl Fn(&A) -> Atom) -> Code {
        let root = self.add(e, atom);
        let node = |id: u32| self.nodes[id as usize];
        match node(root) {
            Node::Const(c) => Code::Const(c),
            Node::Slot(s) => Code::Slot(s),
            Node::Binary(op, a, b) => match (node(a), node(b)) {
                (Node::Slot(s), Node::Const(c)) => Code::SlotConst(op, s, c),
                _ => Code::Tree(root),
            },
            Node::At { .. } | Node::Unary(..) | Node::Cond(..) => Code::Tree(root),
        }
    }

    fn add<A>(&mut self, e: &Expr<A>, atom: &impl Fn(&A) -> Atom) -> u32 {
        let node = match e {
            Expr::Const(c) => Node::Const(*c),
            Expr::Atom(a) => match atom(a) {
                Atom::Const(c) => Node::Const(c),
                Atom::Slot(s) => Node::Slot(s),
                Atom::At { thread, loc } => Node::At { thread, loc },
            },
            Expr::Unary(op, a) => Node::Unary(*op, self.add(a, atom)),
            Expr::Binary(op, a, b) => {
                let a = self.add(a, atom);
                let b = self.add(b, atom);
                self.folded(*op, a, b)
            }
            Expr::Cond(c, a, b) => {
                let c = self.add(c, atom);
                let a = self.add(a, atom);
                Node::Cond(c, a, self.add(b, atom))
            }
        };
        self.nodes.push(node);
        self.nodes.len() as u32 - 1
    }

    /// `1 - self` and the like become constants.
    fn folded(&self, op: BinOp, a: u32, b: u32) -> Node {
        if let (Node::Const(x), Node::Const(y)) = (self.nodes[a as usize], self.nodes[b as usize])
            && let Ok(value) = expr::apply_binary(op, x, y)
        {
            return Node::Const(value);
        }
        Node::Binary(op, a, b)
    }

    /// The value of `code` with the thread's (or the whole) `slots`.
    #[inline]
    pub(crate) fn eval(&self, code: Code, pcs: &[u32], slots: &[i64]) -> Result<i64, EvalError> {
        match code {
            Code::Const(c) => Ok(c),
            Code::Slot(s) => Ok(slots[s as usize]),
            Code::SlotConst(op, s, c) => expr::apply_binary(op, slots[s as usize], c),
            Code::Tree(root) => self.tree(root, pcs, slots),
        }
    }

    /// The value in a state.
    #[inline]
    pub(crate) fn value(&self, code: Code, state: &State) -> Result<i64, EvalError> {
        self.eval(code, &state.pcs, &state.slots)
    }

    fn tree(&self, id: u32, pcs: &[u32], slots: &[i64]) -> Result<i64, EvalError> {
        match self.nodes[id as usize] {
            Node::Const(c) => Ok(c),
            Node::Slot(s) => Ok(slots[s as usize]),
            Node::At { thread, loc } => Ok(i64::from(pcs[thread as usize] == loc)),
            Node::Unary(UnOp::Wrap { bits, signed }, a) => {
                expr::apply_wrap(self.wide(a, pcs, slots)?, bits, signed)
            }
            Node::Unary(op, a) => expr::apply_unary(op, self.tree(a, pcs, slots)?),
            Node::Binary(op, a, b) => {
                let left = self.tree(a, pcs, slots)?;
                expr::apply_binary(op, left, self.tree(b, pcs, slots)?)
            }
            Node::Cond(c, a, b) => {
                let taken = if self.tree(c, pcs, slots)? != 0 { a } else { b };
                self.tree(taken, pcs, slots)
            }
        }
    }

    /// The operand of a wrap, which may leave 64 bits by one operation.
    fn wide(&self, id: u32, pcs: &[u32], slots: &[i64]) -> Result<i128, EvalError> {
        let both = |a, b| {
            let x = i128::from(self.tree(a, pcs, slots)?);
            Ok((x, i128::from(self.tree(b, pcs, slots)?)))
        };
        match self.nodes[id as usize] {
            Node::Binary(BinOp::Add, a, b) => both(a, b).map(|(x, y)| x + y),
            Node::Binary(BinOp::Sub, a, b) => both(a, b).map(|(x, y)| x - y),
            Node::Binary(BinOp::Mul, a, b) => both(a, b).map(|(x, y)| x * y),
            Node::Binary(BinOp::Shl, a, b) => {
                let x = i128::from(self.tree(a, pcs, slots)?);
                let by = self.tree(b, pcs, slots)?;
                if (0..=63).contains(&by) {
                    Ok(x << by)
                } else {
                    Err(EvalError::Undefined)
                }
            }
            Node::Unary(UnOp::Neg, a) => Ok(-i128::from(self.tree(a, pcs, slots)?)),
            Node::Const(_)
            | Node::Slot(_)
            | Node::At { .. }
            | Node::Unary(..)
            | Node::Binary(..)
            | Node::Cond(..) => self.tree(id, pcs, slots).map(i128::from),
        }
    }
}
