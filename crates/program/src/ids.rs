//! Index types: a number that may be used with one kind of table only.

macro_rules! id {
    ($($(#[$doc:meta])+ $name:ident),* $(,)?) => {$(
        $(#[$doc])+
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
        pub struct $name(pub u32);

        impl $name {
            /// As an index into the table it belongs to.
            #[inline]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl From<usize> for $name {
            #[inline]
            fn from(index: usize) -> Self {
                debug_assert!(u32::try_from(index).is_ok(), "table too large for its index type");
                Self(index as u32)
            }
        }
    )*};
}

id! {
    /// A shared variable or array: index into [`Program::globals`](crate::Program::globals).
    GlobalId,
    /// One cell of shared memory; arrays are laid out one after another in the
    /// order of declaration (see [`Program::cell`](crate::Program::cell)).
    Cell,
    /// A thread-local variable: index into [`Template::locals`](crate::Template::locals).
    LocalId,
    /// A control location of one [`Cfg`](crate::Cfg).
    LocId,
    /// An edge of one [`Cfg`](crate::Cfg).
    EdgeId,
    /// A thread template: index into [`Program::templates`](crate::Program::templates).
    TemplateId,
    /// A thread that a property speaks of: index into
    /// [`Property::threads`](crate::Property::threads).
    ThreadVarId,
    /// A struct type: index into [`heap::Program::structs`](crate::heap::Program::structs).
    StructId,
    /// A field: index into [`heap::Struct::fields`](crate::heap::Struct::fields).
    FieldId,
    /// A shared variable of a heap program: index into
    /// [`heap::Program::shared`](crate::heap::Program::shared), in an own specification
    /// into [`heap::Sequential::shared`](crate::heap::Sequential::shared).
    SharedId,
    /// A method: index into [`heap::Program::methods`](crate::heap::Program::methods).
    MethodId,
}
