//! The *layout* of a test's memory: its locations, their types and initial
//! values, and the addresses that stand for them when a register or a location
//! holds a pointer. An address is an ordinary number; the numbers are taken from
//! a region in which the test writes no number of its own, so that an address is
//! never mistaken for a value.
//!
//! A location is one cell (an array, one per element), since store buffers hold
//! whole cells. Accesses narrower than their cell are exact where that is
//! possible ([`access`](super::access)) and refused elsewhere.

use std::collections::BTreeSet;

use palisade_program::{Global, GlobalId, Init, Role, Span};

use super::Failure;
use super::init::{Item, Literal, LocRef};
use super::ty::Ty;
use crate::diagnostic::Diagnostic;

/// One location or array.
#[derive(Clone, Debug)]
pub(super) struct Variable {
    pub(super) name: String,
    pub(super) ty: Ty,
    /// Whether the test gives the type; otherwise it follows from the accesses.
    pub(super) declared: bool,
    pub(super) len: Option<u32>,
    pub(super) values: Vec<Literal>,
    pub(super) span: Span,
    /// Whether its address is used as a value.
    pub(super) taken: bool,
    /// The threads that may access it.
    pub(super) threads: BTreeSet<usize>,
    /// The widths of the accesses to it.
    pub(super) widths: BTreeSet<u8>,
}

/// A cell: an element of a variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct CellRef {
    pub(super) var: usize,
    pub(super) index: u32,
    /// Bytes from the cell's first.
    pub(super) offset: u32,
}

/// All locations of a test.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    pub(super) vars: Vec<Variable>,
    pointer_bits: u8,
    base: i64,
}

/// Addresses of two variables differ by at least this; the longest array of the
/// widest type is shorter.
const STRIDE: i64 = 0x4000;
const MAX_VARS: usize = 4096;
const REGION_SIZE: i64 = STRIDE * MAX_VARS as i64;
/// Addresses have 31 bits, so that a register of 32 holds them.
const REGIONS: std::ops::Range<i64> = 4..31;

impl Layout {
    /// An empty layout; `literals` are the numbers that the test writes.
    pub(super) fn new(pointer_bits: u8, literals: &BTreeSet<i128>) -> Result<Self, Failure> {
        let free = |base: &i64| {
            let range = i128::from(*base)..i128::from(*base + REGION_SIZE);
            literals.range(range).next().is_none()
        };
        let mut bases = REGIONS.map(|region| region * REGION_SIZE);
        let Some(base) = bases.find(free) else {
            return Err(Diagnostic::error(
                Span::default(),
                "the test's numbers leave no room for addresses",
            )
            .into());
        };
        Ok(Self {
            vars: Vec::new(),
            pointer_bits,
            base,
        })
    }

    /// The variable `name`, made if it is new.
    pub(super) fn intern(&mut self, name: &str, span: Span) -> Result<usize, Failure> {
        if let Some(found) = self.find(name) {
            return Ok(found);
        }
        if self.vars.len() >= MAX_VARS {
            return Err(Diagnostic::error(span, "too many locations").into());
        }
        self.vars.push(Variable {
            name: name.to_owned(),
            ty: Ty::INT,
            declared: false,
            len: None,
            values: Vec::new(),
            span,
            taken: false,
            threads: BTreeSet::new(),
            widths: BTreeSet::new(),
        });
        Ok(self.vars.len() - 1)
    }

    /// The variable `name`.
    pub(super) fn find(&self, name: &str) -> Option<usize> {
        self.vars.iter().position(|v| v.name == name)
    }

    /// Declares what `item` says of a location; register items are left alone.
    pub(super) fn declare(&mut self, item: &Item) -> Result<(), Failure> {
        let LocRef::Global { name, .. } = &item.loc else {
            return Ok(());
        };
        let var = self.intern(name, item.span)?;
        let address = matches!(item.values.as_slice(), [Literal::Address(..), ..]);
        let ty = match (item.pointer, item.ty) {
            (true, _) => Some(Ty::pointer(self.pointer_bits)),
            (false, Some(ty)) => Some(ty),
            (false, None) if address => Some(Ty::pointer(self.pointer_bits)),
            (false, None) => None,
        };
        let variable = &mut self.vars[var];
        if variable.declared || !variable.values.is_empty() || variable.len.is_some() {
            return Err(Diagnostic::error(item.span, format!("`{name}` is declared twice")).into());
        }
        if let Some(ty) = ty {
            variable.ty = ty;
            variable.declared = true;
        }
        if item.len == Some(0) {
            return Err(Diagnostic::error(item.span, "an array needs an element").into());
        }
        variable.len = item.len;
        variable.values.clone_from(&item.values);
        for value in &item.values {
            check_fits(value, ty, item.span)?;
        }
        Ok(())
    }

    /// Gives every variable without a declared type the width of its accesses.
    pub(super) fn settle_types(&mut self) {
        for variable in self.vars.iter_mut().filter(|v| !v.declared) {
            if let Some(&widest) = variable.widths.last() {
                variable.ty = Ty::signed(widest);
            }
        }
    }

    /// The address of an element. The index may be one past the end, as in C.
    pub(super) fn address(&self, var: usize, index: u32) -> i64 {
        self.base + var as i64 * STRIDE + i64::from(index) * i64::from(self.vars[var].ty.bytes())
    }

    /// The cell at an address.
    pub(super) fn cell_at(&self, address: i64) -> Option<CellRef> {
        let from_base = address.checked_sub(self.base)?;
        let var = usize::try_from(from_base.div_euclid(STRIDE)).ok()?;
        let variable = self.vars.get(var)?;
        let bytes = from_base.rem_euclid(STRIDE) as u32;
        let size = variable.ty.bytes();
        let index = bytes / size;
        (index < variable.len.unwrap_or(1)).then_some(CellRef {
            var,
            index,
            offset: bytes % size,
        })
    }

    /// The name of the cell whose address this is, if its address is ever used.
    pub(super) fn name_of(&self, address: i64) -> Option<String> {
        let cell = self.cell_at(address)?;
        let variable = &self.vars[cell.var];
        if cell.offset != 0 || !variable.taken {
            return None;
        }
        Some(match (variable.len, cell.index) {
            (None, _) | (_, 0) => variable.name.clone(),
            (Some(_), index) => format!("{}[{index}]", variable.name),
        })
    }

    /// The number that a literal stands for; takes the address of what it names.
    pub(super) fn value(&mut self, literal: &Literal, span: Span) -> Result<i128, Failure> {
        match literal {
            Literal::Number(n) => Ok(*n),
            Literal::Address(name, index) => {
                let var = self.intern(name, span)?;
                self.vars[var].taken = true;
                if *index > self.vars[var].len.unwrap_or(1) {
                    return Err(self.out_of_range(var, *index, span));
                }
                Ok(i128::from(self.address(var, *index)))
            }
        }
    }

    /// The error that an index is out of range.
    pub(super) fn out_of_range(&self, var: usize, index: u32, span: Span) -> Failure {
        let variable = &self.vars[var];
        let message = match variable.len {
            Some(len) => format!(
                "index {index} is out of range: `{}` has {len} elements",
                variable.name
            ),
            None => format!("`{}` is not an array", variable.name),
        };
        Diagnostic::error(span, message).into()
    }

    /// All cells whose address is used as a value: where a pointer may point.
    pub(super) fn pointees(&self) -> Vec<CellRef> {
        let mut cells = Vec::new();
        for (var, variable) in self.vars.iter().enumerate() {
            if variable.taken {
                cells.extend((0..variable.len.unwrap_or(1)).map(|index| CellRef {
                    var,
                    index,
                    offset: 0,
                }));
            }
        }
        cells
    }

    /// The shared variables of the program.
    pub(super) fn globals(&mut self) -> Result<Vec<Global>, Failure> {
        let mut globals = Vec::new();
        for var in 0..self.vars.len() {
            let (values, span, ty) = {
                let v = &self.vars[var];
                (v.values.clone(), v.span, v.ty)
            };
            let cells = self.vars[var].len.unwrap_or(1) as usize;
            let mut init = Vec::with_capacity(cells);
            for value in &values {
                init.push(Init::Value(ty.canonical(self.value(value, span)?)));
            }
            init.resize(cells, Init::Value(0));
            let v = &self.vars[var];
            globals.push(Global {
                name: v.name.clone(),
                len: v.len,
                init,
                domain: None,
                role: Role::Data,
                home: None,
                span: v.span,
            });
        }
        Ok(globals)
    }

    /// The program's id of a variable.
    pub(super) fn global_id(var: usize) -> GlobalId {
        GlobalId::from(var)
    }
}

fn check_fits(value: &Literal, ty: Option<Ty>, span: Span) -> Result<(), Failure> {
    match value {
        Literal::Number(n) if !ty.unwrap_or(Ty::INT).fits(*n) => Err(Diagnostic::error(
            span,
            format!("{n} does not fit the location's type"),
        )
        .help("declare a wider type: `int64_t x = ...`")
        .into()),
        Literal::Number(_) | Literal::Address(..) => Ok(()),
    }
}
