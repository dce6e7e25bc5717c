//! Collections by hashing, and queues. How they lay out their entries, and the order in which these come, is for the library to decide, and
//! differs from run to run: here entries are places of an array, and the verifier chooses the order. A map has [`MOST`] entries;
//! what inserts more is not followed. Hashes are not asked for, nor is the hasher.

use core::borrow::Borrow;
use core::fmt;
use core::hash::Hash;
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::ops::Index;
pub use real::collections::*;
use real::hash::RandomState;

use crate::ask::*;

/// Entries at most.
const MOST: usize = 8;

/// The places that are still to come.
struct Order(u32);

impl Order {
    /// Any of them.
    #[inline]
    fn next(&mut self) -> Option<usize> {
        let mut last = None;
        let mut place = 0;
        while place < MOST {
            if self.0 & (1 << place) != 0 {
                last = Some(place);
                if self.0 >> place == 1 || unsafe { __palisade_choose() } {
                    break;
                }
            }
            place += 1;
        }
        if let Some(place) = last {
            self.0 &= !(1 << place);
        }
        last
    }
}

pub struct HashMap<K, V, S = RandomState> {
    places: [Option<(K, V)>; MOST],
    hasher: PhantomData<S>,
}

impl<K, V> HashMap<K, V, RandomState> {
    #[inline]
    pub fn new() -> Self {
        Self::empty()
    }
    #[inline]
    pub fn with_capacity(_: usize) -> Self {
        Self::empty()
    }
}

impl<K, V, S> HashMap<K, V, S> {
    #[inline]
    const fn empty() -> Self {
        Self { places: [const { None }; MOST], hasher: PhantomData }
    }
    #[inline]
    pub fn with_hasher(hasher: S) -> Self {
        core::mem::forget(hasher);
        Self::empty()
    }
    #[inline]
    pub fn with_capacity_and_hasher(_: usize, hasher: S) -> Self {
        Self::with_hasher(hasher)
    }
    #[inline]
    pub fn capacity(&self) -> usize {
        MOST
    }
    #[inline]
    pub fn len(&self) -> usize {
        let mut all = 0;
        let mut place = 0;
        while place < MOST {
            if self.places[place].is_some() {
                all += 1;
            }
            place += 1;
        }
        all
    }
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    #[inline]
    pub fn clear(&mut self) {
        let mut place = 0;
        while place < MOST {
            self.places[place] = None;
            place += 1;
        }
    }
    #[inline]
    fn order(&self) -> Order {
        let mut all = 0;
        let mut place = 0;
        while place < MOST {
            if self.places[place].is_some() {
                all |= 1 << place;
            }
            place += 1;
        }
        Order(all)
    }
    #[inline]
    pub fn iter(&self) -> Iter<'_, K, V> {
        Iter { places: &self.places, order: self.order() }
    }
    #[inline]
    pub fn iter_mut(&mut self) -> IterMut<'_, K, V> {
        let order = self.order();
        IterMut { places: self.places.as_mut_ptr(), order, of: PhantomData }
    }
    #[inline]
    pub fn keys(&self) -> Keys<'_, K, V> {
        Keys(self.iter())
    }
    #[inline]
    pub fn values(&self) -> Values<'_, K, V> {
        Values(self.iter())
    }
    #[inline]
    pub fn values_mut(&mut self) -> ValuesMut<'_, K, V> {
        ValuesMut(self.iter_mut())
    }
    #[inline]
    pub fn drain(&mut self) -> IntoIter<K, V> {
        let order = self.order();
        IntoIter { places: core::mem::replace(&mut self.places, [const { None }; MOST]), order }
    }
    #[inline]
    pub fn into_keys(self) -> IntoKeys<K, V> {
        IntoKeys(self.into_iter())
    }
    #[inline]
    pub fn into_values(self) -> IntoValues<K, V> {
        IntoValues(self.into_iter())
    }
    #[inline]
    pub fn retain<F: FnMut(&K, &mut V) -> bool>(&mut self, mut keep: F) {
        let mut order = self.order();
        while let Some(place) = order.next() {
            if let Some((key, value)) = &mut self.places[place] {
                if !keep(key, value) {
                    self.places[place] = None;
                }
            }
        }
    }
}

impl<K: Eq + Hash, V, S> HashMap<K, V, S> {
    #[inline]
    fn place<Q: Eq + ?Sized>(&self, key: &Q) -> Option<usize>
    where
        K: Borrow<Q>,
    {
        let mut place = 0;
        while place < MOST {
            if let Some((known, _)) = &self.places[place] {
                if known.borrow() == key {
                    return Some(place);
                }
            }
            place += 1;
        }
        None
    }
    /// A free place.
    #[inline]
    fn room(&self) -> usize {
        let mut place = 0;
        while place < MOST {
            if self.places[place].is_none() {
                return place;
            }
            place += 1;
        }
        unsafe { __palisade_many_entries() }
    }
    #[inline]
    pub fn reserve(&mut self, _: usize) {}
    #[inline]
    pub fn shrink_to_fit(&mut self) {}
    #[inline]
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        if let Some(place) = self.place(&key) {
            if let Some((_, old)) = &mut self.places[place] {
                return Some(core::mem::replace(old, value));
            }
        }
        let place = self.room();
        self.places[place] = Some((key, value));
        None
    }
    #[inline]
    pub fn get<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        match &self.places[self.place(key)?] {
            Some((_, value)) => Some(value),
            None => None,
        }
    }
    #[inline]
    pub fn get_key_value<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> Option<(&K, &V)>
    where
        K: Borrow<Q>,
    {
        match &self.places[self.place(key)?] {
            Some((key, value)) => Some((key, value)),
            None => None,
        }
    }
    #[inline]
    pub fn get_mut<Q: Eq + Hash + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        let place = self.place(key)?;
        match &mut self.places[place] {
            Some((_, value)) => Some(value),
            None => None,
        }
    }
    #[inline]
    pub fn contains_key<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.place(key).is_some()
    }
    #[inline]
    pub fn remove_entry<Q: Eq + Hash + ?Sized>(&mut self, key: &Q) -> Option<(K, V)>
    where
        K: Borrow<Q>,
    {
        let place = self.place(key)?;
        self.places[place].take()
    }
    #[inline]
    pub fn remove<Q: Eq + Hash + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        match self.remove_entry(key) {
            Some((_, value)) => Some(value),
            None => None,
        }
    }
    #[inline]
    pub fn entry(&mut self, key: K) -> hash_map::Entry<'_, K, V> {
        match self.place(&key) {
            Some(place) => hash_map::Entry::Occupied(hash_map::OccupiedEntry { at: &mut self.places[place], key }),
            None => {
                let place = self.room();
                hash_map::Entry::Vacant(hash_map::VacantEntry { at: &mut self.places[place], key })
            }
        }
    }
}

impl<K, V, S> Default for HashMap<K, V, S> {
    #[inline]
    fn default() -> Self {
        Self::empty()
    }
}
impl<K: Clone, V: Clone, S> Clone for HashMap<K, V, S> {
    #[inline]
    fn clone(&self) -> Self {
        Self { places: self.places.clone(), hasher: PhantomData }
    }
}
impl<K: Eq + Hash, V: PartialEq, S> PartialEq for HashMap<K, V, S> {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        if self.len() != other.len() {
            return false;
        }
        let mut place = 0;
        while place < MOST {
            if let Some((key, value)) = &self.places[place] {
                match other.get(key) {
                    Some(that) if value == that => {}
                    _ => return false,
                }
            }
            place += 1;
        }
        true
    }
}
impl<K: Eq + Hash, V: Eq, S> Eq for HashMap<K, V, S> {}
impl<K: fmt::Debug, V: fmt::Debug, S> fmt::Debug for HashMap<K, V, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}
impl<K: Eq + Hash + Borrow<Q>, Q: Eq + Hash + ?Sized, V, S> Index<&Q> for HashMap<K, V, S> {
    type Output = V;
    #[inline]
    fn index(&self, key: &Q) -> &V {
        self.get(key).expect("no entry found for key")
    }
}
impl<K: Eq + Hash, V, S> Extend<(K, V)> for HashMap<K, V, S> {
    #[inline]
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, all: I) {
        for (key, value) in all {
            self.insert(key, value);
        }
    }
}
impl<K: Eq + Hash, V, S> FromIterator<(K, V)> for HashMap<K, V, S> {
    #[inline]
    fn from_iter<I: IntoIterator<Item = (K, V)>>(all: I) -> Self {
        let mut map = Self::empty();
        map.extend(all);
        map
    }
}
impl<K: Eq + Hash, V, const N: usize> From<[(K, V); N]> for HashMap<K, V> {
    #[inline]
    fn from(all: [(K, V); N]) -> Self {
        all.into_iter().collect()
    }
}

pub struct Iter<'a, K, V> {
    places: &'a [Option<(K, V)>; MOST],
    order: Order,
}
impl<'a, K, V> Iterator for Iter<'a, K, V> {
    type Item = (&'a K, &'a V);
    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        match &self.places[self.order.next()?] {
            Some((key, value)) => Some((key, value)),
            None => None,
        }
    }
}
pub struct IterMut<'a, K, V> {
    places: *mut Option<(K, V)>,
    order: Order,
    of: PhantomData<&'a mut (K, V)>,
}
impl<'a, K, V> Iterator for IterMut<'a, K, V> {
    type Item = (&'a K, &'a mut V);
    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        // Each place comes once.
        match unsafe { &mut *self.places.add(self.order.next()?) } {
            Some((key, value)) => Some((&*key, value)),
            None => None,
        }
    }
}
pub struct IntoIter<K, V> {
    places: [Option<(K, V)>; MOST],
    order: Order,
}
impl<K, V> Iterator for IntoIter<K, V> {
    type Item = (K, V);
    #[inline]
    fn next(&mut self) -> Option<(K, V)> {
        self.places[self.order.next()?].take()
    }
}
macro_rules! part {
    ($name:ident, $of:ty, [$($life:lifetime)?], $item:ty, $part:pat => $result:expr) => {
        pub struct $name<$($life,)? K, V>($of);
        impl<$($life,)? K, V> Iterator for $name<$($life,)? K, V> {
            type Item = $item;
            #[inline]
            fn next(&mut self) -> Option<$item> {
                match self.0.next() {
                    Some($part) => Some($result),
                    None => None,
                }
            }
        }
    };
}
part!(Keys, Iter<'a, K, V>, ['a], &'a K, (key, _) => key);
part!(Values, Iter<'a, K, V>, ['a], &'a V, (_, value) => value);
part!(ValuesMut, IterMut<'a, K, V>, ['a], &'a mut V, (_, value) => value);
part!(IntoKeys, IntoIter<K, V>, [], K, (key, _) => key);
part!(IntoValues, IntoIter<K, V>, [], V, (_, value) => value);

impl<K, V, S> IntoIterator for HashMap<K, V, S> {
    type Item = (K, V);
    type IntoIter = IntoIter<K, V>;
    #[inline]
    fn into_iter(self) -> IntoIter<K, V> {
        let order = self.order();
        IntoIter { places: self.places, order }
    }
}
impl<'a, K, V, S> IntoIterator for &'a HashMap<K, V, S> {
    type Item = (&'a K, &'a V);
    type IntoIter = Iter<'a, K, V>;
    #[inline]
    fn into_iter(self) -> Iter<'a, K, V> {
        self.iter()
    }
}
impl<'a, K, V, S> IntoIterator for &'a mut HashMap<K, V, S> {
    type Item = (&'a K, &'a mut V);
    type IntoIter = IterMut<'a, K, V>;
    #[inline]
    fn into_iter(self) -> IterMut<'a, K, V> {
        self.iter_mut()
    }
}

pub mod hash_map {
    pub use super::{HashMap, IntoIter, IntoKeys, IntoValues, Iter, IterMut, Keys, Values, ValuesMut};
    pub use real::collections::hash_map::DefaultHasher;
    pub use real::hash::RandomState;

    pub enum Entry<'a, K, V> {
        Occupied(OccupiedEntry<'a, K, V>),
        Vacant(VacantEntry<'a, K, V>),
    }
    pub struct OccupiedEntry<'a, K, V> {
        pub(super) at: &'a mut Option<(K, V)>,
        pub(super) key: K,
    }
    pub struct VacantEntry<'a, K, V> {
        pub(super) at: &'a mut Option<(K, V)>,
        pub(super) key: K,
    }

    #[inline]
    fn value<K, V>(at: &mut Option<(K, V)>) -> &mut V {
        match at {
            Some((_, value)) => value,
            None => unreachable!(),
        }
    }

    impl<'a, K, V> Entry<'a, K, V> {
        #[inline]
        pub fn key(&self) -> &K {
            match self {
                Entry::Occupied(entry) => &entry.key,
                Entry::Vacant(entry) => &entry.key,
            }
        }
        #[inline]
        pub fn or_insert(self, new: V) -> &'a mut V {
            self.or_insert_with(|| new)
        }
        #[inline]
        pub fn or_insert_with<F: FnOnce() -> V>(self, new: F) -> &'a mut V {
            match self {
                Entry::Occupied(entry) => entry.into_mut(),
                Entry::Vacant(entry) => entry.insert(new()),
            }
        }
        #[inline]
        pub fn or_default(self) -> &'a mut V
        where
            V: Default,
        {
            self.or_insert_with(V::default)
        }
        #[inline]
        pub fn and_modify<F: FnOnce(&mut V)>(mut self, f: F) -> Self {
            if let Entry::Occupied(entry) = &mut self {
                f(entry.get_mut());
            }
            self
        }
    }
    impl<'a, K, V> OccupiedEntry<'a, K, V> {
        #[inline]
        pub fn key(&self) -> &K {
            &self.key
        }
        #[inline]
        pub fn get(&self) -> &V {
            match &*self.at {
                Some((_, value)) => value,
                None => unreachable!(),
            }
        }
        #[inline]
        pub fn get_mut(&mut self) -> &mut V {
            value(self.at)
        }
        #[inline]
        pub fn into_mut(self) -> &'a mut V {
            value(self.at)
        }
        #[inline]
        pub fn insert(&mut self, new: V) -> V {
            core::mem::replace(self.get_mut(), new)
        }
        #[inline]
        pub fn remove(self) -> V {
            match self.at.take() {
                Some((_, value)) => value,
                None => unreachable!(),
            }
        }
    }
    impl<'a, K, V> VacantEntry<'a, K, V> {
        #[inline]
        pub fn key(&self) -> &K {
            &self.key
        }
        #[inline]
        pub fn insert(self, new: V) -> &'a mut V {
            *self.at = Some((self.key, new));
            value(self.at)
        }
    }
}

pub struct HashSet<T, S = RandomState>(HashMap<T, (), S>);

impl<T> HashSet<T, RandomState> {
    #[inline]
    pub fn new() -> Self {
        Self(HashMap::empty())
    }
    #[inline]
    pub fn with_capacity(_: usize) -> Self {
        Self(HashMap::empty())
    }
}
impl<T, S> HashSet<T, S> {
    #[inline]
    pub fn with_hasher(hasher: S) -> Self {
        Self(HashMap::with_hasher(hasher))
    }
    #[inline]
    pub fn len(&self) -> usize {
        self.0.len()
    }
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    #[inline]
    pub fn clear(&mut self) {
        self.0.clear()
    }
    #[inline]
    pub fn iter(&self) -> Keys<'_, T, ()> {
        self.0.keys()
    }
    #[inline]
    pub fn drain(&mut self) -> IntoKeys<T, ()> {
        IntoKeys(self.0.drain())
    }
    #[inline]
    pub fn retain<F: FnMut(&T) -> bool>(&mut self, mut keep: F) {
        self.0.retain(|key, ()| keep(key))
    }
}
impl<T: Eq + Hash, S> HashSet<T, S> {
    #[inline]
    pub fn insert(&mut self, value: T) -> bool {
        if self.0.place(&value).is_some() {
            return false;
        }
        let place = self.0.room();
        self.0.places[place] = Some((value, ()));
        true
    }
    #[inline]
    pub fn contains<Q: Eq + Hash + ?Sized>(&self, value: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        self.0.contains_key(value)
    }
    #[inline]
    pub fn remove<Q: Eq + Hash + ?Sized>(&mut self, value: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        self.0.remove(value).is_some()
    }
    #[inline]
    pub fn take<Q: Eq + Hash + ?Sized>(&mut self, value: &Q) -> Option<T>
    where
        T: Borrow<Q>,
    {
        match self.0.remove_entry(value) {
            Some((value, ())) => Some(value),
            None => None,
        }
    }
    #[inline]
    pub fn is_subset(&self, other: &HashSet<T, S>) -> bool {
        let mut place = 0;
        while place < MOST {
            if let Some((value, ())) = &self.0.places[place] {
                if !other.contains(value) {
                    return false;
                }
            }
            place += 1;
        }
        true
    }
    #[inline]
    pub fn is_superset(&self, other: &HashSet<T, S>) -> bool {
        other.is_subset(self)
    }
}
impl<T, S> Default for HashSet<T, S> {
    #[inline]
    fn default() -> Self {
        Self(HashMap::empty())
    }
}
impl<T: Clone, S> Clone for HashSet<T, S> {
    #[inline]
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}
impl<T: Eq + Hash, S> PartialEq for HashSet<T, S> {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}
impl<T: Eq + Hash, S> Eq for HashSet<T, S> {}
impl<T: fmt::Debug, S> fmt::Debug for HashSet<T, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}
impl<T: Eq + Hash, S> Extend<T> for HashSet<T, S> {
    #[inline]
    fn extend<I: IntoIterator<Item = T>>(&mut self, all: I) {
        for value in all {
            self.insert(value);
        }
    }
}
impl<T: Eq + Hash, S> FromIterator<T> for HashSet<T, S> {
    #[inline]
    fn from_iter<I: IntoIterator<Item = T>>(all: I) -> Self {
        let mut set = Self::default();
        set.extend(all);
        set
    }
}
impl<T: Eq + Hash, const N: usize> From<[T; N]> for HashSet<T> {
    #[inline]
    fn from(all: [T; N]) -> Self {
        all.into_iter().collect()
    }
}
impl<T, S> IntoIterator for HashSet<T, S> {
    type Item = T;
    type IntoIter = IntoKeys<T, ()>;
    #[inline]
    fn into_iter(self) -> IntoKeys<T, ()> {
        self.0.into_keys()
    }
}
impl<'a, T, S> IntoIterator for &'a HashSet<T, S> {
    type Item = &'a T;
    type IntoIter = Keys<'a, T, ()>;
    #[inline]
    fn into_iter(self) -> Keys<'a, T, ()> {
        self.iter()
    }
}

pub mod hash_set {
    pub use super::{HashSet, IntoKeys as IntoIter, Keys as Iter};
}

/// A ring of [`MOST`] places: how it grows is for the library to decide.
pub struct VecDeque<T> {
    places: [MaybeUninit<T>; MOST],
    head: usize,
    len: usize,
}

impl<T> VecDeque<T> {
    #[inline]
    pub const fn new() -> Self {
        Self { places: [const { MaybeUninit::uninit() }; MOST], head: 0, len: 0 }
    }
    #[inline]
    pub fn with_capacity(_: usize) -> Self {
        Self::new()
    }
    #[inline]
    pub fn reserve(&mut self, _: usize) {}
    #[inline]
    pub fn capacity(&self) -> usize {
        MOST
    }
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
    #[inline]
    fn at(&self, index: usize) -> usize {
        (self.head + index) & (MOST - 1)
    }
    #[inline]
    fn room(&self) {
        if self.len >= MOST {
            unsafe { __palisade_many_entries() }
        }
    }
    #[inline]
    pub fn push_back(&mut self, value: T) {
        self.room();
        let place = self.at(self.len);
        self.places[place].write(value);
        self.len += 1;
    }
    #[inline]
    pub fn push_front(&mut self, value: T) {
        self.room();
        self.head = self.at(MOST - 1);
        self.places[self.head].write(value);
        self.len += 1;
    }
    #[inline]
    pub fn pop_front(&mut self) -> Option<T> {
        if self.len == 0 {
            return None;
        }
        let place = self.head;
        self.head = self.at(1);
        self.len -= 1;
        Some(unsafe { self.places[place].assume_init_read() })
    }
    #[inline]
    pub fn pop_back(&mut self) -> Option<T> {
        if self.len == 0 {
            return None;
        }
        self.len -= 1;
        let place = self.at(self.len);
        Some(unsafe { self.places[place].assume_init_read() })
    }
    #[inline]
    pub fn get(&self, index: usize) -> Option<&T> {
        if index < self.len {
            Some(unsafe { self.places[self.at(index)].assume_init_ref() })
        } else {
            None
        }
    }
    #[inline]
    pub fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        if index < self.len {
            let place = self.at(index);
            Some(unsafe { self.places[place].assume_init_mut() })
        } else {
            None
        }
    }
    #[inline]
    pub fn front(&self) -> Option<&T> {
        self.get(0)
    }
    #[inline]
    pub fn front_mut(&mut self) -> Option<&mut T> {
        self.get_mut(0)
    }
    #[inline]
    pub fn back(&self) -> Option<&T> {
        self.get(self.len.wrapping_sub(1))
    }
    #[inline]
    pub fn back_mut(&mut self) -> Option<&mut T> {
        self.get_mut(self.len.wrapping_sub(1))
    }
    #[inline]
    pub fn clear(&mut self) {
        while self.pop_front().is_some() {}
    }
    #[inline]
    pub fn truncate(&mut self, len: usize) {
        while self.len > len {
            self.pop_back();
        }
    }
    #[inline]
    pub fn contains(&self, value: &T) -> bool
    where
        T: PartialEq,
    {
        self.iter().any(|known| known == value)
    }
    #[inline]
    pub fn iter(&self) -> vec_deque::Iter<'_, T> {
        vec_deque::Iter { of: self, next: 0, end: self.len }
    }
    #[inline]
    pub fn append(&mut self, other: &mut Self) {
        while let Some(value) = other.pop_front() {
            self.push_back(value);
        }
    }
    #[inline]
    pub fn iter_mut(&mut self) -> vec_deque::IterMut<'_, T> {
        vec_deque::IterMut { next: 0, end: self.len, of: self }
    }
    #[inline]
    pub fn swap(&mut self, i: usize, j: usize) {
        assert!(i < self.len && j < self.len);
        let (i, j) = (self.at(i), self.at(j));
        self.places.swap(i, j);
    }
    #[inline]
    pub fn insert(&mut self, index: usize, value: T) {
        assert!(index <= self.len, "index out of bounds");
        self.push_back(value);
        let mut at = self.len - 1;
        while at > index {
            self.swap(at, at - 1);
            at -= 1;
        }
    }
    #[inline]
    pub fn remove(&mut self, index: usize) -> Option<T> {
        if index >= self.len {
            return None;
        }
        let mut at = index;
        while at + 1 < self.len {
            self.swap(at, at + 1);
            at += 1;
        }
        self.pop_back()
    }
    /// What is taken out is so at once.
    #[inline]
    pub fn drain<R: core::ops::RangeBounds<usize>>(&mut self, range: R) -> vec_deque::IntoIter<T> {
        use core::ops::Bound;
        let from = match range.start_bound() {
            Bound::Included(from) => *from,
            Bound::Excluded(from) => *from + 1,
            Bound::Unbounded => 0,
        };
        let to = match range.end_bound() {
            Bound::Included(to) => *to + 1,
            Bound::Excluded(to) => *to,
            Bound::Unbounded => self.len,
        };
        assert!(from <= to && to <= self.len, "range out of bounds");
        if from == 0 && to == self.len {
            return vec_deque::IntoIter(core::mem::take(self));
        }
        let mut out = Self::new();
        let mut at = 0;
        let all = self.len;
        while at < all {
            if let Some(value) = self.pop_front() {
                if from <= at && at < to {
                    out.push_back(value);
                } else {
                    self.push_back(value);
                }
            }
            at += 1;
        }
        vec_deque::IntoIter(out)
    }
    #[inline]
    pub fn retain<F: FnMut(&T) -> bool>(&mut self, mut keep: F) {
        let mut left = self.len;
        while left > 0 {
            if let Some(value) = self.pop_front() {
                if keep(&value) {
                    self.push_back(value);
                }
            }
            left -= 1;
        }
    }
}
impl<T> Drop for VecDeque<T> {
    #[inline]
    fn drop(&mut self) {
        if core::mem::needs_drop::<T>() {
            self.clear();
        }
    }
}
impl<T> Default for VecDeque<T> {
    #[inline]
    fn default() -> Self {
        Self::new()
    }
}
impl<T: Clone> Clone for VecDeque<T> {
    #[inline]
    fn clone(&self) -> Self {
        self.iter().cloned().collect()
    }
}
impl<T: PartialEq> PartialEq for VecDeque<T> {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && self.iter().eq(other.iter())
    }
}
impl<T: Eq> Eq for VecDeque<T> {}
impl<T: PartialEq, const N: usize> PartialEq<[T; N]> for VecDeque<T> {
    #[inline]
    fn eq(&self, other: &[T; N]) -> bool {
        self.len == N && self.iter().eq(other.iter())
    }
}
impl<T: PartialEq> PartialEq<real::vec::Vec<T>> for VecDeque<T> {
    #[inline]
    fn eq(&self, other: &real::vec::Vec<T>) -> bool {
        self.len == other.len() && self.iter().eq(other.iter())
    }
}
impl<T: fmt::Debug> fmt::Debug for VecDeque<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
impl<T> Index<usize> for VecDeque<T> {
    type Output = T;
    #[inline]
    fn index(&self, index: usize) -> &T {
        self.get(index).expect("Out of bounds access")
    }
}
impl<T> core::ops::IndexMut<usize> for VecDeque<T> {
    #[inline]
    fn index_mut(&mut self, index: usize) -> &mut T {
        self.get_mut(index).expect("Out of bounds access")
    }
}
impl<T> Extend<T> for VecDeque<T> {
    #[inline]
    fn extend<I: IntoIterator<Item = T>>(&mut self, all: I) {
        for value in all {
            self.push_back(value);
        }
    }
}
impl<T> FromIterator<T> for VecDeque<T> {
    #[inline]
    fn from_iter<I: IntoIterator<Item = T>>(all: I) -> Self {
        let mut deque = Self::new();
        deque.extend(all);
        deque
    }
}
impl<T> From<real::vec::Vec<T>> for VecDeque<T> {
    #[inline]
    fn from(all: real::vec::Vec<T>) -> Self {
        all.into_iter().collect()
    }
}
impl<T> From<VecDeque<T>> for real::vec::Vec<T> {
    #[inline]
    fn from(all: VecDeque<T>) -> Self {
        all.into_iter().collect()
    }
}
impl<T, const N: usize> From<[T; N]> for VecDeque<T> {
    #[inline]
    fn from(all: [T; N]) -> Self {
        all.into_iter().collect()
    }
}
impl<T> IntoIterator for VecDeque<T> {
    type Item = T;
    type IntoIter = vec_deque::IntoIter<T>;
    #[inline]
    fn into_iter(self) -> vec_deque::IntoIter<T> {
        vec_deque::IntoIter(self)
    }
}
impl<'a, T> IntoIterator for &'a mut VecDeque<T> {
    type Item = &'a mut T;
    type IntoIter = vec_deque::IterMut<'a, T>;
    #[inline]
    fn into_iter(self) -> vec_deque::IterMut<'a, T> {
        self.iter_mut()
    }
}
impl<'a, T> IntoIterator for &'a VecDeque<T> {
    type Item = &'a T;
    type IntoIter = vec_deque::Iter<'a, T>;
    #[inline]
    fn into_iter(self) -> vec_deque::Iter<'a, T> {
        self.iter()
    }
}

pub mod vec_deque {
    pub use super::VecDeque;

    pub struct Iter<'a, T> {
        pub(super) of: &'a VecDeque<T>,
        pub(super) next: usize,
        pub(super) end: usize,
    }
    impl<'a, T> Iterator for Iter<'a, T> {
        type Item = &'a T;
        #[inline]
        fn next(&mut self) -> Option<&'a T> {
            if self.next >= self.end {
                return None;
            }
            self.next += 1;
            self.of.get(self.next - 1)
        }
    }
    impl<'a, T> DoubleEndedIterator for Iter<'a, T> {
        #[inline]
        fn next_back(&mut self) -> Option<&'a T> {
            if self.next >= self.end {
                return None;
            }
            self.end -= 1;
            self.of.get(self.end)
        }
    }
    pub struct IterMut<'a, T> {
        pub(super) of: &'a mut VecDeque<T>,
        pub(super) next: usize,
        pub(super) end: usize,
    }
    impl<'a, T> Iterator for IterMut<'a, T> {
        type Item = &'a mut T;
        #[inline]
        fn next(&mut self) -> Option<&'a mut T> {
            if self.next >= self.end {
                return None;
            }
            self.next += 1;
            let place: *mut T = self.of.get_mut(self.next - 1)?;
            // Each place is handed out once.
            Some(unsafe { &mut *place })
        }
    }
    pub struct IntoIter<T>(pub(super) VecDeque<T>);
    impl<T> Iterator for IntoIter<T> {
        type Item = T;
        #[inline]
        fn next(&mut self) -> Option<T> {
            self.0.pop_front()
        }
    }
    impl<T> DoubleEndedIterator for IntoIter<T> {
        #[inline]
        fn next_back(&mut self) -> Option<T> {
            self.0.pop_back()
        }
    }
}
