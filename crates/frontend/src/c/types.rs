//! *Types* of C: what the parser resolves declarations to. Sizes follow one of the
//! two data models; integer types carry width and sign, which is all that decides
//! values (`long` and `long long` of equal width are one type here).

use std::rc::Rc;

/// Widths of `long` and of pointers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum DataModel {
    /// `long` and pointers have 32 bits.
    Ilp32,
    /// `long` and pointers have 64 bits.
    #[default]
    Lp64,
}

impl DataModel {
    /// Bits of `long` and of pointers.
    pub const fn word(self) -> u8 {
        match self {
            Self::Ilp32 => 32,
            Self::Lp64 => 64,
        }
    }
}

/// Objects of the thread library whose contents no program looks at.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Opaque {
    /// `pthread_mutex_t`, `mtx_t`, `pthread_spinlock_t`
    Mutex { spins: bool },
    /// `pthread_cond_t`, `cnd_t`
    Cond,
    /// `pthread_rwlock_t`
    Rwlock,
    /// `pthread_once_t`, `once_flag`
    Once,
    /// `pthread_barrier_t`
    Barrier,
    /// `sem_t`
    Semaphore,
    /// Attributes: set and never read.
    Attributes(Attributes),
}

/// Whose attributes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Attributes {
    Thread,
    Rwlock,
    Other,
}

impl Opaque {
    /// Size and alignment in bytes, as glibc has them on x86.
    const fn extent(self, model: DataModel) -> (u64, u64) {
        let word = model.word() as u64 / 8;
        let (narrow, wide) = match self {
            Self::Mutex { spins: true } | Self::Once | Self::Attributes(Attributes::Other) => {
                return (4, 4);
            }
            Self::Mutex { spins: false } => (24, 40),
            Self::Cond => (48, 48),
            Self::Rwlock => (32, 56),
            Self::Barrier => (20, 32),
            Self::Semaphore => (16, 32),
            Self::Attributes(Attributes::Thread) => (36, 56),
            Self::Attributes(Attributes::Rwlock) => (8, 8),
        };
        match model {
            DataModel::Ilp32 => (narrow, word),
            DataModel::Lp64 => (wide, word),
        }
    }
}

/// Number of a struct or union in [`Structs`].
pub(super) type StructId = usize;

/// A type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Type {
    Void,
    Bool,
    Int {
        bits: u8,
        signed: bool,
    },
    /// Floating point and other types that are parsed but not supported.
    Other(&'static str),
    Pointer(Rc<Type>),
    /// Length `None`: incomplete.
    Array(Rc<Type>, Option<u64>),
    /// An array whose length is no constant.
    VariableArray(Rc<Type>),
    Struct(StructId),
    Function(Rc<Signature>),
    Atomic(Rc<Type>),
    Opaque(Opaque),
    /// A bit-field.
    Bits(Bits),
}

/// A bit-field: a part of the unsigned integer that it stands in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Bits {
    /// Bits of that integer.
    pub(super) unit: u8,
    /// Its lowest bit.
    pub(super) shift: u8,
    pub(super) width: u8,
    pub(super) signed: bool,
    pub(super) is_bool: bool,
}

impl Bits {
    /// The type of its values.
    pub(super) const fn value(self) -> Type {
        if self.is_bool {
            return Type::Bool;
        }
        Type::Int {
            bits: self.width,
            signed: self.signed,
        }
    }

    /// The type of the integer that it stands in.
    pub(super) const fn unit(self) -> Type {
        Type::Int {
            bits: self.unit,
            signed: false,
        }
    }
}

/// Where the members of a struct are, and its size and alignment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Shape {
    pub(super) offsets: Vec<u64>,
    pub(super) extent: (u64, u64),
}

/// The type of a function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Signature {
    pub(super) result: Type,
    pub(super) params: Vec<(Option<String>, Type)>,
    pub(super) variadic: bool,
}

/// A member of a struct or union.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Field {
    /// `None` for anonymous structs and unions, whose members count as their owner's.
    pub(super) name: Option<String>,
    pub(super) ty: Type,
    /// Width of a bit-field that is not laid out.
    pub(super) width: Option<u64>,
}

impl Field {
    /// Whether it is the unit of bit-fields.
    pub(super) fn is_unit(&self) -> bool {
        let name = self.name.as_ref();
        name.is_some_and(|name| name.contains(super::bit_fields::UNIT))
    }
}

/// A struct or union.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct StructDef {
    pub(super) tag: String,
    pub(super) is_union: bool,
    /// `None`: declared only.
    pub(super) fields: Option<Vec<Field>>,
    /// Whether an attribute says how it lies in memory: its size is not known here.
    pub(super) is_packed: bool,
    /// Where its members are, if it has bit-fields ([`super::bit_fields`]).
    pub(super) shape: Option<Shape>,
}

impl StructDef {
    /// The flexible array member, and what it is an array of.
    pub(super) fn flexible(&self) -> Option<(&Field, &Type)> {
        let fields = self.fields.as_deref().unwrap_or_default();
        match fields.last()?.ty.plain() {
            Type::Array(of, None | Some(0)) if !self.is_union => Some((fields.last()?, of)),
            _ => None,
        }
    }
}

/// All structs and unions of a file.
pub(super) type Structs = Vec<StructDef>;

impl Type {
    pub(super) const INT: Self = Self::Int {
        bits: 32,
        signed: true,
    };
    pub(super) const UINT: Self = Self::Int {
        bits: 32,
        signed: false,
    };
    pub(super) const CHAR: Self = Self::Int {
        bits: 8,
        signed: true,
    };

    pub(super) fn pointer(to: Self) -> Self {
        Self::Pointer(Rc::new(to))
    }

    /// Without `_Atomic`.
    pub(super) fn plain(&self) -> &Self {
        match self {
            Self::Atomic(inner) => inner.plain(),
            other => other,
        }
    }

    pub(super) const fn is_atomic(&self) -> bool {
        matches!(self, Self::Atomic(_))
    }

    pub(super) fn is_pointer(&self) -> bool {
        matches!(self.plain(), Self::Pointer(_))
    }

    pub(super) fn is_integer(&self) -> bool {
        matches!(self.plain(), Self::Int { .. } | Self::Bool | Self::Bits(_))
    }

    /// Whether values of it are one number: integers, pointers, floating point.
    pub(super) fn is_value(&self) -> bool {
        let is_float = matches!(
            self.plain(),
            Self::Other("float" | "double" | "long double")
        );
        self.is_scalar() || is_float
    }

    /// Whether a value of the type is one number.
    pub(super) fn is_scalar(&self) -> bool {
        self.is_integer() || self.is_pointer()
    }

    /// Whether its length, or that of its elements, is no constant.
    pub(super) fn is_variable(&self) -> bool {
        match self.plain() {
            Self::VariableArray(_) => true,
            Self::Array(of, _) => of.is_variable(),
            _ => false,
        }
    }

    /// What a pointer or array of this type gives when it is dereferenced.
    pub(super) fn pointee(&self) -> Option<&Self> {
        match self.plain() {
            Self::Pointer(to) | Self::Array(to, _) | Self::VariableArray(to) => Some(to),
            _ => None,
        }
    }

    /// As a value: arrays and functions become pointers.
    pub(super) fn decayed(&self) -> Self {
        match self.plain() {
            Self::Array(to, _) | Self::VariableArray(to) => Self::Pointer(to.clone()),
            Self::Function(_) => Self::pointer(self.plain().clone()),
            other => other.clone(),
        }
    }

    /// Least and greatest value. 64-bit unsigned numbers are kept as the signed
    /// number with the same bits.
    pub(super) fn range(&self) -> (i128, i128) {
        match self.plain() {
            Self::Bool => (0, 1),
            Self::Bits(bits) => bits.value().range(),
            Self::Int {
                bits,
                signed: false,
            } if *bits < 64 => (0, (1 << *bits) - 1),
            Self::Int { bits, .. } => {
                let half = 1_i128 << (*bits - 1).min(63);
                (-half, half - 1)
            }
            _ => (i128::from(i64::MIN), i128::from(i64::MAX)),
        }
    }

    /// Whether it is a 64-bit unsigned integer type.
    pub(super) fn is_u64(&self) -> bool {
        matches!(
            self.plain(),
            Self::Int {
                bits: 64,
                signed: false
            }
        )
    }

    /// After the integer promotions.
    pub(super) fn promoted(&self) -> Self {
        match self.plain() {
            Self::Bool => Self::INT,
            Self::Bits(bits) => bits.value().promoted(),
            Self::Int { bits, .. } if *bits < 32 => Self::INT,
            other => other.clone(),
        }
    }

    /// The type that both operands of an arithmetic operator are converted to.
    pub(super) fn common(&self, other: &Self) -> Self {
        let (a, b) = (self.promoted(), other.promoted());
        match (&a, &b) {
            (Self::Int { bits: m, signed: s }, Self::Int { bits: n, signed: t }) => {
                let bits = *m.max(n);
                // The wider type wins; of two equally wide ones the unsigned.
                let unsigned = (*m == bits && !s) || (*n == bits && !t);
                Self::Int {
                    bits,
                    signed: !unsigned,
                }
            }
            (Self::Int { .. }, Self::Other(_)) => b,
            (Self::Other(m), Self::Other(n)) => {
                let rank = |name: &str| match name {
                    "float" => 0,
                    "double" => 1,
                    _ => 2,
                };
                if rank(m) < rank(n) { b } else { a }
            }
            _ => a,
        }
    }

    /// Size in bytes, with the alignment that gcc gives.
    pub(super) fn size(&self, structs: &Structs, model: DataModel) -> Option<u64> {
        self.layout(structs, model).map(|(size, _)| size)
    }

    /// A member of a struct or union by name: the byte that it starts at, and its type.
    pub(super) fn member_bytes(
        &self,
        name: &str,
        structs: &Structs,
        model: DataModel,
    ) -> Option<(u64, Self)> {
        let Self::Struct(id) = self.plain() else {
            return None;
        };
        // Asking for the size refuses layouts that are not known.
        self.layout(structs, model)?;
        let def = structs.get(*id)?;
        let mut at = 0_u64;
        for (k, field) in def.fields.iter().flatten().enumerate() {
            let (size, align) = field.ty.layout(structs, model)?;
            at = match &def.shape {
                Some(shape) => shape.offsets[k],
                None => at.next_multiple_of(align),
            };
            if field.name.as_deref() == Some(name) {
                return Some((at, field.ty.clone()));
            }
            if let (None, Some((inner, ty))) =
                (&field.name, field.ty.member_bytes(name, structs, model))
            {
                return Some((at + inner, ty));
            }
            if !def.is_union {
                at += size;
            }
        }
        None
    }

    fn layout(&self, structs: &Structs, model: DataModel) -> Option<(u64, u64)> {
        self.extent(structs, model, None)
    }

    /// Size and alignment in bytes. Types whose layout is not known here (some packed
    /// structs) count as `unknown`, if that is given.
    pub(super) fn extent(
        &self,
        structs: &Structs,
        model: DataModel,
        unknown: Option<(u64, u64)>,
    ) -> Option<(u64, u64)> {
        let word = u64::from(model.word() / 8);
        Some(match self {
            Self::Atomic(inner) => {
                let (size, align) = inner.extent(structs, model, unknown)?;
                let aligned = size.is_power_of_two() && size <= 16;
                (size, if aligned { align.max(size) } else { align })
            }
            Self::Void | Self::Bool => (1, 1),
            Self::Bits(bits) => bits.unit().extent(structs, model, unknown)?,
            Self::Int { bits: 64, .. } => (8, word),
            Self::Int { bits, .. } => (u64::from(*bits / 8), u64::from(*bits / 8)),
            Self::Other("float") => (4, 4),
            Self::Other("double") => (8, word),
            Self::Other("long double" | "__int128") if model == DataModel::Lp64 => (16, 16),
            Self::Other(_) => return None,
            Self::Pointer(_) => (word, word),
            Self::Array(of, len) => {
                let (size, align) = of.extent(structs, model, unknown)?;
                (size.checked_mul((*len)?)?, align)
            }
            Self::Struct(id) => {
                let is_known = |def: &&StructDef| !def.is_packed || unknown.is_some();
                let def = structs.get(*id).filter(is_known)?;
                if let Some(shape) = &def.shape {
                    return Some(shape.extent);
                }
                let (mut size, mut align) = (0_u64, 1);
                let flexible = def.flexible();
                for field in def.fields.as_ref()? {
                    if field.width.is_some() {
                        return None;
                    }
                    let (s, a) = match flexible {
                        Some((last, of)) if std::ptr::eq(last, field) => {
                            (0, of.extent(structs, model, unknown)?.1)
                        }
                        _ => field.ty.extent(structs, model, unknown)?,
                    };
                    align = align.max(a);
                    if def.is_union {
                        size = size.max(s);
                    } else {
                        size = size.next_multiple_of(a).checked_add(s)?;
                    }
                }
                (size.next_multiple_of(align), align)
            }
            Self::Opaque(of) => of.extent(model),
            Self::VariableArray(_) | Self::Function(_) => return None,
        })
    }
}

/// The library's types that are known by their name, whatever a header says.
pub(super) fn library_type(name: &str, model: DataModel) -> Option<Type> {
    Some(match name {
        "pthread_mutex_t" | "mtx_t" => Type::Opaque(Opaque::Mutex { spins: false }),
        "pthread_spinlock_t" => Type::Opaque(Opaque::Mutex { spins: true }),
        "pthread_cond_t" | "cnd_t" => Type::Opaque(Opaque::Cond),
        "pthread_rwlock_t" => Type::Opaque(Opaque::Rwlock),
        "pthread_once_t" | "once_flag" => Type::Opaque(Opaque::Once),
        "pthread_barrier_t" => Type::Opaque(Opaque::Barrier),
        "sem_t" => Type::Opaque(Opaque::Semaphore),
        "pthread_attr_t" => Type::Opaque(Opaque::Attributes(Attributes::Thread)),
        "pthread_rwlockattr_t" => Type::Opaque(Opaque::Attributes(Attributes::Rwlock)),
        "pthread_mutexattr_t" | "pthread_condattr_t" | "pthread_barrierattr_t" => {
            Type::Opaque(Opaque::Attributes(Attributes::Other))
        }
        "pthread_t" | "thrd_t" => Type::Int {
            bits: model.word(),
            signed: false,
        },
        _ => return None,
    })
}
