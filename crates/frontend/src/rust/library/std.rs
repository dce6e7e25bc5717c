//! The standard library as programs see it while they are verified: that of the compiler, with
//! threads and locks of our own. What only the verifier can do (starting a thread, waiting) is
//! asked for by calls of functions named `__palisade_*`, which have no code.
#![no_std]
#![allow(clippy::all, missing_docs)]

extern crate std as real;
pub use real::*;

/// What the verifier does.
mod ask {
    unsafe extern "C" {
        pub fn __palisade_spawn(f: unsafe extern "C" fn(*mut u8), argument: *mut u8, scope: usize) -> usize;
        pub fn __palisade_join(thread: usize);
        pub fn __palisade_join_scope(scope: usize);
        pub fn __palisade_self() -> usize;
        pub fn __palisade_ended(thread: usize) -> bool;
        pub fn __palisade_take(at: *const u32, from: u32, to: u32);
        pub fn __palisade_choose() -> bool;
        pub fn __palisade_opaque(value: u64) -> u64;
        pub fn __palisade_duration() -> !;
        pub fn __palisade_formatted() -> usize;
        pub fn __palisade_test_name() -> !;
        pub fn __palisade_many_values() -> !;
        pub fn __palisade_rendezvous() -> !;
        pub fn __palisade_many_entries() -> !;
        pub fn __palisade_behind_model();
    }
}

/// The arguments are evaluated; what the text is, nobody may ask.
#[macro_export]
macro_rules! format {
    ($($arg:tt)*) => {{
        let _ = $crate::format_args!($($arg)*);
        $crate::__palisade::text()
    }};
}

/// For the other libraries of ours.
pub mod __palisade {
    /// A text that was formatted: its length is a mark that must not be read.
    #[inline]
    pub fn text() -> real::string::String {
        let length = unsafe { crate::ask::__palisade_formatted() };
        unsafe { real::string::String::from_raw_parts(core::ptr::dangling_mut(), length, 0) }
    }
    /// Waits for all threads that were started without a scope.
    #[inline]
    pub fn join_all() {
        unsafe { crate::ask::__palisade_join_scope(0) }
    }
    /// This thread has no name.
    #[inline]
    pub fn unnamed() {
        crate::thread::NAME.set(crate::thread::Name::Nothing)
    }
    /// What comes from here on sees the outcomes of all executions of a model.
    #[inline]
    pub fn behind_model() {
        unsafe { crate::ask::__palisade_behind_model() }
    }
    /// Waits until the number is `from`, and makes it `to`.
    #[inline]
    pub fn take(at: &core::sync::atomic::AtomicU32, from: u32, to: u32) {
        unsafe { crate::ask::__palisade_take(at.as_ptr(), from, to) }
    }
}

pub mod hint {
    pub use real::hint::*;

    /// A number that the verifier treats as if only a run could decide it.
    #[inline]
    pub fn opaque(value: u64) -> u64 {
        unsafe { crate::ask::__palisade_opaque(value) }
    }
}

pub mod collections;

/// Time passes as it likes, but does not go back.
pub mod time {
    pub use real::time::{Duration, SystemTime, SystemTimeError, TryFromFloatSecsError, UNIX_EPOCH};

    use core::cmp::Ordering;
    use core::ops::{Add, AddAssign, Sub, SubAssign};

    /// A time that was looked up, or one before or behind such a time.
    #[derive(Clone, Copy, Eq, Hash, Debug)]
    pub struct Instant {
        /// How far away from the time that was looked up.
        by: i64,
    }

    impl Instant {
        #[inline]
        pub fn now() -> Self {
            Self { by: 0 }
        }
        #[inline]
        fn moved(self, by: Duration, sign: i64) -> Self {
            Self { by: self.by + sign * (by.as_nanos() as i64) }
        }
        /// Any time may have passed.
        #[inline]
        pub fn elapsed(&self) -> Duration {
            unsafe { crate::ask::__palisade_duration() }
        }
        #[inline]
        pub fn duration_since(&self, _: Self) -> Duration {
            unsafe { crate::ask::__palisade_duration() }
        }
        #[inline]
        pub fn checked_duration_since(&self, _: Self) -> Option<Duration> {
            unsafe { crate::ask::__palisade_duration() }
        }
        #[inline]
        pub fn saturating_duration_since(&self, _: Self) -> Duration {
            unsafe { crate::ask::__palisade_duration() }
        }
        #[inline]
        pub fn checked_add(&self, by: Duration) -> Option<Self> {
            Some(self.moved(by, 1))
        }
        #[inline]
        pub fn checked_sub(&self, by: Duration) -> Option<Self> {
            Some(self.moved(by, -1))
        }
    }
    impl PartialEq for Instant {
        #[inline]
        fn eq(&self, other: &Self) -> bool {
            if self.by == other.by {
                unsafe { crate::ask::__palisade_duration() }
            }
            unsafe { crate::ask::__palisade_choose() }
        }
    }
    impl PartialOrd for Instant {
        #[inline]
        fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
            Some(self.cmp(other))
        }
    }
    impl Ord for Instant {
        /// A time that lies so far from one that was looked up has come, or has not.
        #[inline]
        fn cmp(&self, other: &Self) -> Ordering {
            if self.by == other.by {
                unsafe { crate::ask::__palisade_duration() }
            }
            if unsafe { crate::ask::__palisade_choose() } { Ordering::Less } else { Ordering::Greater }
        }
    }
    impl Add<Duration> for Instant {
        type Output = Self;
        #[inline]
        fn add(self, by: Duration) -> Self {
            self.moved(by, 1)
        }
    }
    impl Sub<Duration> for Instant {
        type Output = Self;
        #[inline]
        fn sub(self, by: Duration) -> Self {
            self.moved(by, -1)
        }
    }
    impl Sub for Instant {
        type Output = Duration;
        #[inline]
        fn sub(self, other: Self) -> Duration {
            self.duration_since(other)
        }
    }
    impl AddAssign<Duration> for Instant {
        #[inline]
        fn add_assign(&mut self, by: Duration) {
            *self = *self + by;
        }
    }
    impl SubAssign<Duration> for Instant {
        #[inline]
        fn sub_assign(&mut self, by: Duration) {
            *self = *self - by;
        }
    }
}

pub mod thread {
    pub use real::thread::{AccessError, LocalKey, Result, available_parallelism};

    use crate::ask::*;
    use core::cell::Cell;
    use core::marker::PhantomData;
    use core::mem::{MaybeUninit, size_of};
    use core::sync::atomic::{AtomicU32, Ordering};
    use real::boxed::Box;
    use real::string::String;
    use real::time::Duration;

    static TOKENS: [AtomicU32; 32] = [const { AtomicU32::new(0) }; 32];

    /// What a thread is called; the text is not looked at before somebody asks.
    #[derive(Clone, Copy, Debug, Default)]
    pub(crate) enum Name {
        #[default]
        Usual,
        Nothing,
        Text(&'static String),
    }

    real::thread_local! {
        pub(crate) static NAME: Cell<Name> = const { Cell::new(Name::Usual) };
    }

    /// A panic ends the run.
    #[inline]
    pub fn panicking() -> bool {
        false
    }
    #[inline]
    pub fn yield_now() {}
    #[inline]
    pub fn sleep(_: Duration) {}
    #[inline]
    pub fn sleep_ms(_: u32) {}

    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
    pub struct ThreadId(usize);

    #[derive(Clone)]
    pub struct Thread(usize, Name);
    impl core::fmt::Debug for Thread {
        fn fmt(&self, _: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
            Ok(())
        }
    }

    /// That of a test is named by whoever runs it.
    #[inline]
    fn main_name() -> Option<&'static str> {
        if cfg!(palisade_test) {
            unsafe { __palisade_test_name() }
        }
        Some("main")
    }

    impl Thread {
        #[inline]
        pub fn id(&self) -> ThreadId {
            ThreadId(self.0)
        }
        #[inline]
        pub fn name(&self) -> Option<&str> {
            match self.1 {
                Name::Usual if self.0 == 0 => main_name(),
                Name::Usual | Name::Nothing => None,
                Name::Text(name) => Some(name),
            }
        }
        #[inline]
        pub fn unpark(&self) {
            TOKENS[self.0].store(1, Ordering::Release);
        }
    }

    #[inline]
    pub fn current() -> Thread {
        Thread(unsafe { __palisade_self() }, NAME.get())
    }

    /// It may return for no reason, as the documentation says.
    #[inline]
    pub fn park() {
        if unsafe { __palisade_choose() } {
            return;
        }
        unsafe { __palisade_take(TOKENS[__palisade_self()].as_ptr(), 1, 0) }
    }

    #[inline]
    pub fn park_timeout_ms(_: u32) {
        park_timeout(Duration::ZERO)
    }

    #[inline]
    pub fn park_timeout(_: Duration) {
        if unsafe { __palisade_choose() } {
            let _ = TOKENS[unsafe { __palisade_self() }].swap(0, Ordering::Acquire);
        }
    }

    struct Start<F, T> {
        f: F,
        out: *mut MaybeUninit<T>,
        name: Name,
    }

    unsafe extern "C" fn start<F: FnOnce() -> T, T>(argument: *mut u8) {
        let start = unsafe { *Box::from_raw(argument.cast::<Start<F, T>>()) };
        if let Name::Text(_) = start.name {
            NAME.set(start.name);
        }
        let value = (start.f)();
        if size_of::<T>() == 0 {
            core::mem::forget(value);
        } else {
            unsafe { start.out.write(MaybeUninit::new(value)) };
        }
    }

    #[inline]
    fn launch<F: FnOnce() -> T, T>(
        f: F,
        scope: usize,
        name: Name,
    ) -> (Thread, *mut MaybeUninit<T>) {
        let out = if size_of::<T>() == 0 {
            core::ptr::dangling_mut()
        } else {
            Box::into_raw(Box::new_uninit())
        };
        let argument = Box::into_raw(Box::new(Start { f, out, name })).cast::<u8>();
        let id = unsafe { __palisade_spawn(start::<F, T>, argument, scope) };
        (Thread(id, name), out)
    }

    #[inline]
    fn finish<T>(id: usize, out: *mut MaybeUninit<T>) -> T {
        unsafe {
            __palisade_join(id);
            out.read().assume_init()
        }
    }

    pub struct JoinHandle<T> {
        thread: Thread,
        out: *mut MaybeUninit<T>,
    }
    unsafe impl<T> Send for JoinHandle<T> {}
    unsafe impl<T> Sync for JoinHandle<T> {}

    impl<T> JoinHandle<T> {
        #[inline]
        pub fn join(self) -> Result<T> {
            Ok(finish(self.thread.0, self.out))
        }
        #[inline]
        pub fn thread(&self) -> &Thread {
            &self.thread
        }
        #[inline]
        pub fn is_finished(&self) -> bool {
            unsafe { __palisade_ended(self.thread.0) }
        }
    }
    #[cfg(unix)]
    impl<T> real::os::unix::thread::JoinHandleExt for JoinHandle<T> {
        #[inline]
        fn as_pthread_t(&self) -> real::os::unix::thread::RawPthread {
            self.thread().0 as _
        }
        #[inline]
        fn into_pthread_t(self) -> real::os::unix::thread::RawPthread {
            self.as_pthread_t()
        }
    }
    impl<T> core::fmt::Debug for JoinHandle<T> {
        fn fmt(&self, _: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
            Ok(())
        }
    }

    #[inline]
    pub fn spawn<F, T>(f: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let (thread, out) = launch(f, 0, Name::Usual);
        JoinHandle { thread, out }
    }

    pub struct Scope<'scope, 'env: 'scope> {
        marker: u8,
        scope: PhantomData<&'scope mut &'scope ()>,
        env: PhantomData<&'env mut &'env ()>,
    }

    pub struct ScopedJoinHandle<'scope, T> {
        thread: Thread,
        out: *mut MaybeUninit<T>,
        scope: PhantomData<&'scope ()>,
    }
    unsafe impl<T> Send for ScopedJoinHandle<'_, T> {}
    unsafe impl<T> Sync for ScopedJoinHandle<'_, T> {}

    impl<T> ScopedJoinHandle<'_, T> {
        #[inline]
        pub fn join(self) -> Result<T> {
            Ok(finish(self.thread.0, self.out))
        }
        #[inline]
        pub fn thread(&self) -> &Thread {
            &self.thread
        }
        #[inline]
        pub fn is_finished(&self) -> bool {
            unsafe { __palisade_ended(self.thread.0) }
        }
    }

    #[inline]
    pub fn scope<'env, F, T>(f: F) -> T
    where
        F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
    {
        let scope = Scope { marker: 0, scope: PhantomData, env: PhantomData };
        let result = f(&scope);
        unsafe { __palisade_join_scope(&raw const scope.marker as usize) };
        result
    }

    impl<'scope, 'env> Scope<'scope, 'env> {
        #[inline]
        pub fn spawn<F, T>(&'scope self, f: F) -> ScopedJoinHandle<'scope, T>
        where
            F: FnOnce() -> T + Send + 'scope,
            T: Send + 'scope,
        {
            self.named(f, Name::Usual)
        }
        #[inline]
        fn named<F, T>(&'scope self, f: F, name: Name) -> ScopedJoinHandle<'scope, T>
        where
            F: FnOnce() -> T + Send + 'scope,
            T: Send + 'scope,
        {
            let (thread, out) = launch(f, &raw const self.marker as usize, name);
            ScopedJoinHandle { thread, out, scope: PhantomData }
        }
    }
    impl core::fmt::Debug for Scope<'_, '_> {
        fn fmt(&self, _: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
            Ok(())
        }
    }
    impl<T> core::fmt::Debug for ScopedJoinHandle<'_, T> {
        fn fmt(&self, _: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
            Ok(())
        }
    }

    #[derive(Debug, Default)]
    pub struct Builder(Name);

    impl Builder {
        #[inline]
        pub fn new() -> Self {
            Self(Name::Usual)
        }
        #[inline]
        pub fn name(self, name: String) -> Self {
            Self(Name::Text(Box::leak(Box::new(name))))
        }
        #[inline]
        pub fn stack_size(self, _: usize) -> Self {
            self
        }
        #[inline]
        pub fn spawn<F, T>(self, f: F) -> real::io::Result<JoinHandle<T>>
        where
            F: FnOnce() -> T + Send + 'static,
            T: Send + 'static,
        {
            let (thread, out) = launch(f, 0, self.0);
            Ok(JoinHandle { thread, out })
        }
        #[inline]
        pub fn spawn_scoped<'scope, 'env, F, T>(
            self,
            scope: &'scope Scope<'scope, 'env>,
            f: F,
        ) -> real::io::Result<ScopedJoinHandle<'scope, T>>
        where
            F: FnOnce() -> T + Send + 'scope,
            T: Send + 'scope,
        {
            Ok(scope.named(f, self.0))
        }
    }
}

pub mod sync {
    pub use real::sync::*;

    pub mod mpsc;

    use crate::ask::*;
    use core::cell::UnsafeCell;
    use core::fmt;
    use core::ops::{Deref, DerefMut};
    use core::sync::atomic::{AtomicU32, Ordering};

    pub struct Mutex<T: ?Sized> {
        locked: AtomicU32,
        data: UnsafeCell<T>,
    }
    unsafe impl<T: ?Sized + Send> Send for Mutex<T> {}
    unsafe impl<T: ?Sized + Send> Sync for Mutex<T> {}

    pub struct MutexGuard<'a, T: ?Sized + 'a> {
        mutex: &'a Mutex<T>,
        not_send: core::marker::PhantomData<*const ()>,
    }
    unsafe impl<T: ?Sized + Sync> Sync for MutexGuard<'_, T> {}

    impl<T> Mutex<T> {
        #[inline]
        pub const fn new(value: T) -> Self {
            Self { locked: AtomicU32::new(0), data: UnsafeCell::new(value) }
        }
        #[inline]
        pub fn into_inner(self) -> LockResult<T> {
            Ok(self.data.into_inner())
        }
    }

    impl<T: ?Sized> Mutex<T> {
        #[inline]
        fn guard(&self) -> MutexGuard<'_, T> {
            MutexGuard { mutex: self, not_send: core::marker::PhantomData }
        }
        #[inline]
        pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
            unsafe { __palisade_take(self.locked.as_ptr(), 0, 1) };
            Ok(self.guard())
        }
        #[inline]
        pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
            match self.locked.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => Ok(self.guard()),
                Err(_) => Err(TryLockError::WouldBlock),
            }
        }
        #[inline]
        pub fn is_poisoned(&self) -> bool {
            false
        }
        #[inline]
        pub fn clear_poison(&self) {}
        #[inline]
        pub fn get_mut(&mut self) -> LockResult<&mut T> {
            Ok(self.data.get_mut())
        }
    }

    impl<T: Default> Default for Mutex<T> {
        fn default() -> Self {
            Self::new(T::default())
        }
    }
    impl<T> From<T> for Mutex<T> {
        fn from(value: T) -> Self {
            Self::new(value)
        }
    }
    impl<T: ?Sized> fmt::Debug for Mutex<T> {
        fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
            Ok(())
        }
    }
    impl<T: ?Sized> Deref for MutexGuard<'_, T> {
        type Target = T;
        #[inline]
        fn deref(&self) -> &T {
            unsafe { &*self.mutex.data.get() }
        }
    }
    impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
        #[inline]
        fn deref_mut(&mut self) -> &mut T {
            unsafe { &mut *self.mutex.data.get() }
        }
    }
    impl<T: ?Sized> Drop for MutexGuard<'_, T> {
        #[inline]
        fn drop(&mut self) {
            self.mutex.locked.store(0, Ordering::Release);
        }
    }
    impl<T: ?Sized> fmt::Debug for MutexGuard<'_, T> {
        fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
            Ok(())
        }
    }

    /// It may wake up for no reason, as the documentation says; so a wait may end at any time.
    #[derive(Debug, Default)]
    pub struct Condvar(());

    impl Condvar {
        #[inline]
        pub const fn new() -> Self {
            Self(())
        }
        #[inline]
        pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
            Ok(Self::released(guard))
        }
        /// Gives the lock back and takes it again.
        #[inline]
        fn released<'a, T>(guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
            let mutex = guard.mutex;
            drop(guard);
            unsafe { __palisade_take(mutex.locked.as_ptr(), 0, 1) };
            mutex.guard()
        }
        #[inline]
        pub fn wait_while<'a, T, F: FnMut(&mut T) -> bool>(
            &self,
            mut guard: MutexGuard<'a, T>,
            mut condition: F,
        ) -> LockResult<MutexGuard<'a, T>> {
            while condition(&mut *guard) {
                guard = self.wait(guard)?;
            }
            Ok(guard)
        }
        /// Time may pass or not.
        #[inline]
        pub fn wait_timeout<'a, T>(
            &self,
            guard: MutexGuard<'a, T>,
            _: real::time::Duration,
        ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
            let timed_out = unsafe { __palisade_choose() };
            Ok((Self::released(guard), WaitTimeoutResult(timed_out)))
        }
        #[inline]
        pub fn wait_timeout_ms<'a, T>(&self, guard: MutexGuard<'a, T>, _: u32) -> LockResult<(MutexGuard<'a, T>, bool)> {
            let timed_out = unsafe { __palisade_choose() };
            Ok((Self::released(guard), !timed_out))
        }
        #[inline]
        pub fn wait_timeout_while<'a, T, F: FnMut(&mut T) -> bool>(
            &self,
            mut guard: MutexGuard<'a, T>,
            _: real::time::Duration,
            mut condition: F,
        ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
            while condition(&mut *guard) {
                if unsafe { __palisade_choose() } {
                    return Ok((guard, WaitTimeoutResult(true)));
                }
                guard = Self::released(guard);
            }
            Ok((guard, WaitTimeoutResult(false)))
        }
        #[inline]
        pub fn notify_one(&self) {}
        #[inline]
        pub fn notify_all(&self) {}
    }

    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct WaitTimeoutResult(bool);
    impl WaitTimeoutResult {
        #[inline]
        pub fn timed_out(&self) -> bool {
            self.0
        }
    }

    const WRITER: u32 = u32::MAX;

    pub struct RwLock<T: ?Sized> {
        readers: AtomicU32,
        data: UnsafeCell<T>,
    }
    unsafe impl<T: ?Sized + Send> Send for RwLock<T> {}
    unsafe impl<T: ?Sized + Send + Sync> Sync for RwLock<T> {}

    pub struct RwLockReadGuard<'a, T: ?Sized + 'a> {
        lock: &'a RwLock<T>,
        not_send: core::marker::PhantomData<*const ()>,
    }
    pub struct RwLockWriteGuard<'a, T: ?Sized + 'a> {
        lock: &'a RwLock<T>,
        not_send: core::marker::PhantomData<*const ()>,
    }

    impl<T> RwLock<T> {
        #[inline]
        pub const fn new(value: T) -> Self {
            Self { readers: AtomicU32::new(0), data: UnsafeCell::new(value) }
        }
        #[inline]
        pub fn into_inner(self) -> LockResult<T> {
            Ok(self.data.into_inner())
        }
    }
    impl<T: ?Sized> RwLock<T> {
        #[inline]
        pub fn try_read(&self) -> TryLockResult<RwLockReadGuard<'_, T>> {
            let mut seen = self.readers.load(Ordering::Relaxed);
            while seen != WRITER {
                match self.readers.compare_exchange(seen, seen + 1, Ordering::Acquire, Ordering::Relaxed) {
                    Ok(_) => {
                        return Ok(RwLockReadGuard { lock: self, not_send: core::marker::PhantomData });
                    }
                    Err(now) => seen = now,
                }
            }
            Err(TryLockError::WouldBlock)
        }
        #[inline]
        pub fn read(&self) -> LockResult<RwLockReadGuard<'_, T>> {
            loop {
                if let Ok(guard) = self.try_read() {
                    return Ok(guard);
                }
            }
        }
        #[inline]
        pub fn write(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
            unsafe { __palisade_take(self.readers.as_ptr(), 0, WRITER) };
            Ok(RwLockWriteGuard { lock: self, not_send: core::marker::PhantomData })
        }
        #[inline]
        pub fn try_write(&self) -> TryLockResult<RwLockWriteGuard<'_, T>> {
            match self.readers.compare_exchange(0, WRITER, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => Ok(RwLockWriteGuard { lock: self, not_send: core::marker::PhantomData }),
                Err(_) => Err(TryLockError::WouldBlock),
            }
        }
        #[inline]
        pub fn get_mut(&mut self) -> LockResult<&mut T> {
            Ok(self.data.get_mut())
        }
    }
    impl<T: ?Sized> RwLock<T> {
        #[inline]
        pub fn is_poisoned(&self) -> bool {
            false
        }
        #[inline]
        pub fn clear_poison(&self) {}
    }
    impl<T> From<T> for RwLock<T> {
        fn from(value: T) -> Self {
            Self::new(value)
        }
    }
    unsafe impl<T: ?Sized + Sync> Sync for RwLockReadGuard<'_, T> {}
    unsafe impl<T: ?Sized + Sync> Sync for RwLockWriteGuard<'_, T> {}

    /// What is printed has no effect.
    macro_rules! silent {
        ($($trait:ident for $name:ident $(<$life:lifetime, $t:ident>)? $(<$u:ident>)?;)*) => {
            $(impl$(<$t: ?Sized>)?$(<$u: ?Sized>)? fmt::$trait for $name$(<$life, $t>)?$(<$u>)? {
                fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
                    Ok(())
                }
            })*
        };
    }
    silent! {
        Debug for RwLock<T>;
        Debug for RwLockReadGuard<'_, T>;
        Debug for RwLockWriteGuard<'_, T>;
        Display for MutexGuard<'_, T>;
        Display for RwLockReadGuard<'_, T>;
        Display for RwLockWriteGuard<'_, T>;
        Debug for Once;
        Debug for Barrier;
        Debug for BarrierWaitResult;
    }

    impl<T: Default> Default for RwLock<T> {
        fn default() -> Self {
            Self::new(T::default())
        }
    }
    impl<T: ?Sized> Deref for RwLockReadGuard<'_, T> {
        type Target = T;
        #[inline]
        fn deref(&self) -> &T {
            unsafe { &*self.lock.data.get() }
        }
    }
    impl<T: ?Sized> Drop for RwLockReadGuard<'_, T> {
        #[inline]
        fn drop(&mut self) {
            self.lock.readers.fetch_sub(1, Ordering::Release);
        }
    }
    impl<T: ?Sized> Deref for RwLockWriteGuard<'_, T> {
        type Target = T;
        #[inline]
        fn deref(&self) -> &T {
            unsafe { &*self.lock.data.get() }
        }
    }
    impl<T: ?Sized> DerefMut for RwLockWriteGuard<'_, T> {
        #[inline]
        fn deref_mut(&mut self) -> &mut T {
            unsafe { &mut *self.lock.data.get() }
        }
    }
    impl<'a, T: ?Sized> RwLockWriteGuard<'a, T> {
        #[inline]
        pub fn downgrade(this: Self) -> RwLockReadGuard<'a, T> {
            let lock = this.lock;
            core::mem::forget(this);
            lock.readers.store(1, Ordering::Release);
            RwLockReadGuard { lock, not_send: core::marker::PhantomData }
        }
    }
    impl<T: ?Sized> Drop for RwLockWriteGuard<'_, T> {
        #[inline]
        fn drop(&mut self) {
            self.lock.readers.store(0, Ordering::Release);
        }
    }

    pub struct Once {
        done: AtomicU32,
        running: AtomicU32,
    }

    impl Once {
        #[inline]
        pub const fn new() -> Self {
            Self { done: AtomicU32::new(0), running: AtomicU32::new(0) }
        }
        #[inline]
        pub fn call_once<F: FnOnce()>(&self, f: F) {
            if self.is_completed() {
                return;
            }
            unsafe { __palisade_take(self.running.as_ptr(), 0, 1) };
            if self.done.load(Ordering::Relaxed) == 0 {
                f();
                self.done.store(1, Ordering::Release);
            }
            self.running.store(0, Ordering::Release);
        }
        #[inline]
        pub fn is_completed(&self) -> bool {
            self.done.load(Ordering::Acquire) == 1
        }
    }

    /// As programs for old compilers have it, such as `lazy_static`.
    pub const ONCE_INIT: Once = Once::new();

    /// Whether an earlier attempt has panicked: never, since a panic ends the run.
    #[derive(Debug)]
    pub struct OnceState(());
    impl OnceState {
        #[inline]
        pub fn is_poisoned(&self) -> bool {
            false
        }
    }
    impl Once {
        #[inline]
        pub fn call_once_force<F: FnOnce(&OnceState)>(&self, f: F) {
            self.call_once(|| f(&OnceState(())));
        }
        #[inline]
        pub fn wait(&self) {
            while !self.is_completed() {}
        }
        #[inline]
        pub fn wait_force(&self) {
            self.wait()
        }
    }

    pub struct OnceLock<T> {
        once: Once,
        value: UnsafeCell<Option<T>>,
    }
    unsafe impl<T: Send> Send for OnceLock<T> {}
    unsafe impl<T: Send + Sync> Sync for OnceLock<T> {}

    impl<T> OnceLock<T> {
        #[inline]
        pub const fn new() -> Self {
            Self { once: Once::new(), value: UnsafeCell::new(None) }
        }
        #[inline]
        pub fn get(&self) -> Option<&T> {
            if self.once.is_completed() {
                unsafe { (*self.value.get()).as_ref() }
            } else {
                None
            }
        }
        #[inline]
        pub fn get_or_init<F: FnOnce() -> T>(&self, f: F) -> &T {
            self.once.call_once(|| unsafe { *self.value.get() = Some(f()) });
            self.get().unwrap()
        }
        #[inline]
        pub fn set(&self, value: T) -> Result<(), T> {
            let mut value = Some(value);
            self.once.call_once(|| unsafe { *self.value.get() = value.take() });
            match value {
                None => Ok(()),
                Some(value) => Err(value),
            }
        }
    }
    impl<T> OnceLock<T> {
        #[inline]
        pub fn get_mut(&mut self) -> Option<&mut T> {
            self.value.get_mut().as_mut()
        }
        #[inline]
        pub fn into_inner(self) -> Option<T> {
            self.value.into_inner()
        }
        #[inline]
        pub fn take(&mut self) -> Option<T> {
            core::mem::take(self).into_inner()
        }
    }
    impl<T> From<T> for OnceLock<T> {
        fn from(value: T) -> Self {
            let cell = Self::new();
            let _ = cell.set(value);
            cell
        }
    }
    impl<T> fmt::Debug for OnceLock<T> {
        fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
            Ok(())
        }
    }

    impl<T> OnceLock<T> {
        #[inline]
        pub fn wait(&self) -> &T {
            self.once.wait();
            self.get().unwrap()
        }
    }
    impl<T: Clone> Clone for OnceLock<T> {
        fn clone(&self) -> Self {
            self.get().map_or_else(Self::new, |value| Self::from(value.clone()))
        }
    }
    impl<T: PartialEq> PartialEq for OnceLock<T> {
        fn eq(&self, other: &Self) -> bool {
            self.get() == other.get()
        }
    }
    impl<T: Eq> Eq for OnceLock<T> {}
    impl<T> Default for OnceLock<T> {
        fn default() -> Self {
            Self::new()
        }
    }

    pub struct LazyLock<T, F = fn() -> T> {
        cell: OnceLock<T>,
        init: UnsafeCell<Option<F>>,
    }
    unsafe impl<T: Send + Sync, F: Send> Sync for LazyLock<T, F> {}
    impl<T, F: FnOnce() -> T> LazyLock<T, F> {
        #[inline]
        pub const fn new(init: F) -> Self {
            Self { cell: OnceLock::new(), init: UnsafeCell::new(Some(init)) }
        }
        #[inline]
        pub fn force(this: &Self) -> &T {
            this.cell.get_or_init(|| match unsafe { (*this.init.get()).take() } {
                Some(init) => init(),
                None => unreachable!(),
            })
        }
        #[inline]
        pub fn force_mut(this: &mut Self) -> &mut T {
            Self::force(this);
            this.cell.get_mut().unwrap()
        }
    }
    impl<T, F> LazyLock<T, F> {
        #[inline]
        pub fn get(this: &Self) -> Option<&T> {
            this.cell.get()
        }
        #[inline]
        pub fn get_mut(this: &mut Self) -> Option<&mut T> {
            this.cell.get_mut()
        }
    }
    impl<T, F: FnOnce() -> T> Deref for LazyLock<T, F> {
        type Target = T;
        #[inline]
        fn deref(&self) -> &T {
            Self::force(self)
        }
    }
    impl<T: Default> Default for LazyLock<T> {
        #[inline]
        fn default() -> Self {
            Self::new(T::default)
        }
    }
    impl<T, F> fmt::Debug for LazyLock<T, F> {
        fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
            Ok(())
        }
    }

    pub struct Barrier {
        count: AtomicU32,
        round: AtomicU32,
        all: u32,
    }
    pub struct BarrierWaitResult(bool);
    impl BarrierWaitResult {
        #[inline]
        pub fn is_leader(&self) -> bool {
            self.0
        }
    }
    impl Barrier {
        #[inline]
        pub const fn new(all: usize) -> Self {
            Self { count: AtomicU32::new(0), round: AtomicU32::new(0), all: all as u32 }
        }
        #[inline]
        pub fn wait(&self) -> BarrierWaitResult {
            let round = self.round.load(Ordering::Acquire);
            if self.count.fetch_add(1, Ordering::AcqRel) + 1 >= self.all {
                self.count.store(0, Ordering::Relaxed);
                self.round.store(round.wrapping_add(1) % 4, Ordering::Release);
                return BarrierWaitResult(true);
            }
            while self.round.load(Ordering::Acquire) == round {}
            BarrierWaitResult(false)
        }
    }
}
