//! Memory as bytes, for the store of visited states: every list with its length. Equal
//! memories have equal bytes.

use std::sync::Arc;

use crate::pack::{Reader, put, put_value};

use super::memory::{Known, Mark, Memory, Message};
use super::view::{Flat, FlatPos, Old, Pos, ScView, Unseen, Values, View};

/// Written to bytes and read again.
trait Bytes: Sized {
    fn write(&self, out: &mut Vec<u8>);
    fn read(from: &mut Reader<'_>) -> Self;
}

impl Bytes for i64 {
    fn write(&self, out: &mut Vec<u8>) {
        put_value(out, *self);
    }
    fn read(from: &mut Reader<'_>) -> Self {
        from.value()
    }
}

impl Bytes for i16 {
    fn write(&self, out: &mut Vec<u8>) {
        put_value(out, i64::from(*self));
    }
    fn read(from: &mut Reader<'_>) -> Self {
        from.value() as Self
    }
}

impl Bytes for u64 {
    fn write(&self, out: &mut Vec<u8>) {
        put(out, *self);
    }
    fn read(from: &mut Reader<'_>) -> Self {
        from.get()
    }
}

impl Bytes for u32 {
    fn write(&self, out: &mut Vec<u8>) {
        put(out, u64::from(*self));
    }
    fn read(from: &mut Reader<'_>) -> Self {
        from.get() as Self
    }
}

impl Bytes for bool {
    fn write(&self, out: &mut Vec<u8>) {
        put(out, u64::from(*self));
    }
    fn read(from: &mut Reader<'_>) -> Self {
        from.get() == 1
    }
}

impl<A: Bytes, B: Bytes> Bytes for (A, B) {
    fn write(&self, out: &mut Vec<u8>) {
        self.0.write(out);
        self.1.write(out);
    }
    fn read(from: &mut Reader<'_>) -> Self {
        (A::read(from), B::read(from))
    }
}

impl<T: Bytes> Bytes for Vec<T> {
    fn write(&self, out: &mut Vec<u8>) {
        put(out, self.len() as u64);
        for item in self {
            item.write(out);
        }
    }
    fn read(from: &mut Reader<'_>) -> Self {
        let count = from.get();
        (0..count).map(|_| T::read(from)).collect()
    }
}

impl Bytes for FlatPos {
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Bottom => put(out, 0),
            Self::Old(values) => {
                put(out, 1);
                values.write(out);
            }
            Self::Kept(i) => put(out, 2 + u64::from(*i)),
        }
    }
    fn read(from: &mut Reader<'_>) -> Self {
        match from.get() {
            0 => Self::Bottom,
            1 => Self::Old(Values::read(from)),
            i => Self::Kept(i as u32 - 2),
        }
    }
}

impl Bytes for Pos {
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Bottom => put(out, 0),
            Self::Old(old) => {
                put(out, 1);
                old.values.write(out);
                old.carried.write(out);
            }
            Self::Kept(i) => put(out, 2 + u64::from(*i)),
        }
    }
    fn read(from: &mut Reader<'_>) -> Self {
        match from.get() {
            0 => Self::Bottom,
            1 => Self::Old(Arc::new(Old {
                values: Values::read(from),
                carried: Vec::read(from),
            })),
            i => Self::Kept(i as u32 - 2),
        }
    }
}

/// A struct as the sequence of its fields.
macro_rules! fields {
    ($name:ident: $($field:ident),*) => {
        impl Bytes for $name {
            fn write(&self, out: &mut Vec<u8>) {
                $(self.$field.write(out);)*
            }
            fn read(from: &mut Reader<'_>) -> Self {
                $(let $field = Bytes::read(from);)*
                Self { $($field),* }
            }
        }
    };
}

impl Bytes for Unseen {
    fn write(&self, out: &mut Vec<u8>) {
        self.0.write(out);
    }
    fn read(from: &mut Reader<'_>) -> Self {
        Self(Vec::read(from))
    }
}

impl Bytes for Option<(i16, u32)> {
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            None => put(out, 0),
            Some((mark, cell)) => {
                put(out, 1 + u64::from(*cell));
                mark.write(out);
            }
        }
    }
    fn read(from: &mut Reader<'_>) -> Self {
        match from.get() {
            0 => None,
            cell => Some((i16::read(from), cell as u32 - 1)),
        }
    }
}

fields!(ScView: fence, same, linked, any);
fields!(Flat: pos, stores, sc, unseen);
fields!(View: pos, stores, sc, unseen);
fields!(Message: value, attached, view, refused);
fields!(Mark: before, through, ceiling, before_sc, through_sc, after_fence);
fields!(Known: current, acquirable, released, pending, own, earlier, linked, late);
fields!(Memory: history, marks, threads, mixed);

impl Memory {
    pub(crate) fn pack(&self, out: &mut Vec<u8>) {
        self.write(out);
    }

    pub(crate) fn unpack(from: &mut Reader<'_>) -> Self {
        Self::read(from)
    }
}
