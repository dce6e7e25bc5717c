//! Reads one *instruction* of LLVM's text.

use palisade_program::Order;

use super::cursor::{Cursor, FLOATING, Read};
use super::ir::{Argument, Binary, Cast, Change, Const, Inst, Operand, Predicate, Reg, Type};
use super::parse::Reader;

impl Reader<'_> {
    pub(super) fn known(
        &mut self,
        word: &str,
        dst: Option<Reg>,
        cursor: &mut Cursor<'_>,
    ) -> Read<Option<Inst>> {
        if let Some(op) = binary(word) {
            while matches!(cursor.peek(), "nuw" | "nsw" | "exact" | "disjoint") {
                cursor.word();
            }
            let (ty, left) = self.typed(cursor)?;
            cursor.expect(",")?;
            let right = self.value(cursor, &ty)?;
            let (Some(bits), Some(dst)) = (ty.bits(), dst) else {
                return Ok(None);
            };
            return Ok(Some(Inst::Binary {
                dst,
                op,
                bits,
                left,
                right,
            }));
        }
        match (word, dst) {
            ("alloca", Some(dst)) => {
                let ty = cursor.ty()?;
                let size = ty.size();
                if cursor.eat(",") && !matches!(cursor.peek(), "align" | "") {
                    return Ok(None);
                }
                Ok(Some(Inst::Alloca { dst, size }))
            }
            ("load", Some(dst)) => {
                let atomic = cursor.eat_word("atomic");
                cursor.eat_word("volatile");
                let ty = cursor.ty()?;
                cursor.expect(",")?;
                let (_, from) = self.typed(cursor)?;
                let order = self.access_order(atomic, cursor)?;
                let defined = atomic || cursor.rest.contains("!noundef");
                Ok(Some(Inst::Load {
                    dst,
                    ty,
                    from,
                    order,
                    defined,
                }))
            }
            ("store", _) => {
                let atomic = cursor.eat_word("atomic");
                cursor.eat_word("volatile");
                let (ty, value) = self.typed(cursor)?;
                cursor.expect(",")?;
                let (_, to) = self.typed(cursor)?;
                let order = self.access_order(atomic, cursor)?;
                Ok(Some(Inst::Store {
                    ty,
                    value,
                    to,
                    order,
                }))
            }
            ("getelementptr", Some(dst)) => self.address(dst, cursor).map(Some),
            ("icmp", Some(dst)) => {
                cursor.eat_word("samesign");
                let Some(predicate) = predicate(cursor.word()) else {
                    return Ok(None);
                };
                let (ty, left) = self.typed(cursor)?;
                cursor.expect(",")?;
                let right = self.value(cursor, &ty)?;
                let bits = ty.bits().ok_or("a comparison of something else")?;
                Ok(Some(Inst::Compare {
                    dst,
                    predicate,
                    bits,
                    left,
                    right,
                }))
            }
            ("trunc" | "zext" | "sext" | "ptrtoint" | "inttoptr" | "bitcast", Some(dst)) => {
                while matches!(cursor.peek(), "nuw" | "nsw" | "nneg") {
                    cursor.word();
                }
                let (from, value) = self.typed(cursor)?;
                cursor.expect("to")?;
                let to = cursor.ty()?;
                // Numbers with a point are kept as their bits.
                let width = |ty: &Type| match ty {
                    Type::Other(name, size @ (4 | 8)) if name == FLOATING => Some(*size as u32 * 8),
                    ty => ty.bits(),
                };
                let (Some(from), Some(to)) = (width(&from), width(&to)) else {
                    return Ok(None);
                };
                let kind = match word {
                    "sext" => Cast::SignExtend,
                    _ if from > to => Cast::Truncate,
                    _ if from < to => Cast::ZeroExtend,
                    _ => Cast::Same,
                };
                Ok(Some(Inst::Cast {
                    dst,
                    kind,
                    from,
                    to,
                    value,
                }))
            }
            ("select", Some(dst)) => {
                let (_, test) = self.typed(cursor)?;
                cursor.expect(",")?;
                let (ty, yes) = self.typed(cursor)?;
                cursor.expect(",")?;
                let (_, no) = self.typed(cursor)?;
                Ok(Some(Inst::Select {
                    dst,
                    ty,
                    test,
                    yes,
                    no,
                }))
            }
            ("extractvalue", Some(dst)) => {
                let (ty, of) = self.typed(cursor)?;
                let path = path(cursor)?;
                Ok(Some(Inst::Extract { dst, ty, of, path }))
            }
            ("insertvalue", Some(dst)) => {
                let (ty, of) = self.typed(cursor)?;
                cursor.expect(",")?;
                let part = self.typed(cursor)?;
                let path = path(cursor)?;
                Ok(Some(Inst::Insert {
                    dst,
                    ty,
                    of,
                    part,
                    path,
                }))
            }
            ("freeze", Some(dst)) => {
                let (ty, value) = self.typed(cursor)?;
                Ok(Some(Inst::Copy { dst, ty, value }))
            }
            ("cmpxchg", Some(dst)) => {
                let weak = cursor.eat_word("weak");
                cursor.eat_word("volatile");
                let (_, at) = self.typed(cursor)?;
                cursor.expect(",")?;
                let (ty, expected) = self.typed(cursor)?;
                cursor.expect(",")?;
                let (_, new) = self.typed(cursor)?;
                scope(cursor);
                let success = order(cursor.word())?;
                let failure = order(cursor.word())?;
                Ok(Some(Inst::CompareExchange {
                    dst,
                    at,
                    ty,
                    expected,
                    new,
                    orders: (success, failure),
                    weak,
                }))
            }
            ("atomicrmw", Some(dst)) => {
                cursor.eat_word("volatile");
                let Some(how) = change(cursor.word()) else {
                    return Ok(None);
                };
                let (_, at) = self.typed(cursor)?;
                cursor.expect(",")?;
                let (ty, value) = self.typed(cursor)?;
                scope(cursor);
                let order = order(cursor.word())?;
                Ok(Some(Inst::Change {
                    dst,
                    how,
                    at,
                    ty,
                    value,
                    order,
                }))
            }
            ("fence", _) => {
                let single = scope(cursor);
                Ok(Some(Inst::Fence(order(cursor.word())?, single)))
            }
            ("phi", Some(dst)) => {
                let ty = cursor.ty()?;
                let mut incoming = Vec::new();
                while cursor.eat("[") {
                    let value = self.value(cursor, &ty)?;
                    cursor.expect(",")?;
                    incoming.push((value, cursor.name('%')?));
                    cursor.expect("]")?;
                    cursor.eat(",");
                }
                Ok(Some(Inst::Phi { dst, ty, incoming }))
            }
            ("call" | "tail" | "musttail" | "notail", _) => self.call(dst, cursor).map(Some),
            _ => Ok(None),
        }
    }

    fn access_order(&mut self, atomic: bool, cursor: &mut Cursor<'_>) -> Read<Order> {
        if !atomic {
            return Ok(Order::Plain);
        }
        scope(cursor);
        order(cursor.word())
    }

    fn address(&mut self, dst: Reg, cursor: &mut Cursor<'_>) -> Read<Inst> {
        while matches!(cursor.peek(), "inbounds" | "nuw" | "nusw") {
            cursor.word();
        }
        let mut at = cursor.ty()?;
        cursor.expect(",")?;
        let (_, base) = self.typed(cursor)?;
        let (mut offset, mut scaled, mut first) = (0_i64, Vec::new(), true);
        while cursor.eat(",") {
            if cursor.rest.starts_with('!') {
                break;
            }
            let (ty, index) = self.typed(cursor)?;
            let constant = match &index {
                Operand::Const(Const::Int(value)) => {
                    let bits = ty.bits().unwrap_or(64).min(64);
                    Some(palisade_program::expr::wrap(
                        *value as i128,
                        bits as u8,
                        true,
                    ))
                }
                Operand::Const(Const::Zero) => Some(0),
                Operand::Const(_) | Operand::Reg(_) => None,
            };
            let (by, next) = match (&at, first) {
                (_, true) => (at.size() as i64, at.clone()),
                (Type::Array(_, of), false) => (of.size() as i64, (**of).clone()),
                (_, false) => {
                    let index = constant.ok_or("an index of a struct that is no number")?;
                    let (by, ty) = at.part(index as u64).ok_or("an index without a part")?;
                    offset += by as i64;
                    at = ty.clone();
                    continue;
                }
            };
            match constant {
                Some(index) => offset += index * by,
                None => scaled.push((ty, index, by)),
            }
            at = next;
            first = false;
        }
        Ok(Inst::Address {
            dst,
            base,
            offset,
            scaled,
        })
    }

    fn call(&mut self, dst: Option<Reg>, cursor: &mut Cursor<'_>) -> Read<Inst> {
        cursor.eat_word("call");
        // Attributes of the result, and calling conventions.
        loop {
            let mut ahead = cursor.clone();
            if ahead.ty().is_ok()
                && (ahead.rest.starts_with('@')
                    || ahead.rest.starts_with('%')
                    || ahead.peek() == "asm")
            {
                break;
            }
            match cursor.word() {
                "align" => {
                    cursor.word();
                }
                "" if cursor.rest.starts_with('(') => {
                    cursor.parenthesised()?;
                }
                "" => return Err("a call expected".to_owned()),
                _ if cursor.rest.starts_with('(') => {
                    cursor.parenthesised()?;
                }
                _ => {}
            }
        }
        let ty = cursor.ty()?;
        if cursor.peek() == "asm" {
            return Ok(Inst::Call {
                dst,
                ty,
                callee: Operand::Const(Const::Unknown("inline assembler".to_owned())),
                arguments: Vec::new(),
            });
        }
        let callee = self.value(cursor, &Type::Pointer)?;
        let inner = cursor.parenthesised()?;
        let mut inner = Cursor::new(inner, self.named);
        let mut arguments = Vec::new();
        while !inner.rest.is_empty() {
            let ty = inner.ty()?;
            let result = self.attributes(&mut inner)?;
            let value = if matches!(&ty, Type::Other(name, _) if name == "metadata") {
                inner.rest = "";
                Operand::Const(Const::Undef)
            } else {
                self.value(&mut inner, &ty)?
            };
            arguments.push(Argument { ty, value, result });
            inner.eat(",");
        }
        Ok(Inst::Call {
            dst,
            ty,
            callee,
            arguments,
        })
    }
}

fn path(cursor: &mut Cursor<'_>) -> Read<Vec<usize>> {
    let mut path = Vec::new();
    while cursor.eat(",") {
        if cursor.rest.starts_with('!') {
            break;
        }
        path.push(cursor.number()?);
    }
    Ok(path)
}

/// `syncscope("singlethread")`: whether it is there.
fn scope(cursor: &mut Cursor<'_>) -> bool {
    cursor.eat_word("syncscope") && cursor.parenthesised().is_ok()
}

fn order(word: &str) -> Read<Order> {
    Ok(match word {
        "unordered" | "monotonic" => Order::Relaxed,
        "acquire" => Order::Acquire,
        "release" => Order::Release,
        "acq_rel" => Order::AcqRel,
        "seq_cst" => Order::SeqCst,
        _ => return Err(format!("unknown memory order `{word}`")),
    })
}

fn binary(word: &str) -> Option<Binary> {
    Some(match word {
        "add" => Binary::Add,
        "sub" => Binary::Sub,
        "mul" => Binary::Mul,
        "udiv" => Binary::UDiv,
        "sdiv" => Binary::SDiv,
        "urem" => Binary::URem,
        "srem" => Binary::SRem,
        "shl" => Binary::Shl,
        "lshr" => Binary::LShr,
        "ashr" => Binary::AShr,
        "and" => Binary::And,
        "or" => Binary::Or,
        "xor" => Binary::Xor,
        _ => return None,
    })
}

fn predicate(word: &str) -> Option<Predicate> {
    Some(match word {
        "eq" => Predicate::Eq,
        "ne" => Predicate::Ne,
        "ugt" => Predicate::Ugt,
        "uge" => Predicate::Uge,
        "ult" => Predicate::Ult,
        "ule" => Predicate::Ule,
        "sgt" => Predicate::Sgt,
        "sge" => Predicate::Sge,
        "slt" => Predicate::Slt,
        "sle" => Predicate::Sle,
        _ => return None,
    })
}

fn change(word: &str) -> Option<Change> {
    Some(match word {
        "xchg" => Change::Exchange,
        "add" => Change::Add,
        "sub" => Change::Sub,
        "and" => Change::And,
        "nand" => Change::Nand,
        "or" => Change::Or,
        "xor" => Change::Xor,
        "max" => Change::Max,
        "min" => Change::Min,
        "umax" => Change::UMax,
        "umin" => Change::UMin,
        _ => return None,
    })
}
