//! What states have in common is *shared* between them: a copy of a [`Shared`] value is the same one until
//! it is written to.

use std::ops::{Deref, DerefMut};
use std::rc::Rc;

/// A value that is copied when it is written to.
#[derive(Eq, Debug)]
pub(super) struct Shared<T>(Rc<T>);

impl<T> Shared<T> {
    /// Whether two are one and the same; others may be equal.
    pub(super) fn is(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }
}

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> From<T> for Shared<T> {
    fn from(value: T) -> Self {
        Self(Rc::new(value))
    }
}

impl<T: PartialEq> PartialEq for Shared<T> {
    fn eq(&self, other: &Self) -> bool {
        self.is(other) || self.0 == other.0
    }
}

impl<T> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Clone> DerefMut for Shared<T> {
    fn deref_mut(&mut self) -> &mut T {
        Rc::make_mut(&mut self.0)
    }
}
