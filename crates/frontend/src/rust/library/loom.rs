//! loom's names, for tests that were written for it: the verifier runs their threads itself. As in
//! loom, closures of threads need not be `Send`, and a model ends when all of its threads have. What
//! loom finds beyond that, `Arc`s that are never dropped, is not looked for.
#![allow(clippy::all, missing_docs)]

pub use std::{hint, thread_local};

#[inline]
pub fn model<F: Fn() + Sync + Send + 'static>(f: F) {
    std::__palisade::unnamed();
    f();
    std::__palisade::join_all();
    std::__palisade::behind_model();
}

/// What steers loom's search says nothing here.
#[inline]
pub fn explore() {}
#[inline]
pub fn stop_exploring() {}
#[inline]
pub fn skip_branch() {}

pub mod model {
    #[derive(Debug, Default)]
    pub struct Builder {
        pub max_threads: usize,
        pub max_branches: usize,
        pub max_permutations: Option<usize>,
        pub max_duration: Option<std::time::Duration>,
        pub preemption_bound: Option<usize>,
        pub checkpoint_file: Option<std::path::PathBuf>,
        pub checkpoint_interval: usize,
        pub expect_explicit_explore: bool,
        pub location: bool,
        pub log: bool,
    }
    impl Builder {
        #[inline]
        pub fn new() -> Self {
            Self::default()
        }
        #[inline]
        pub fn check<F: Fn() + Sync + Send + 'static>(&self, f: F) {
            crate::model(f);
        }
    }
}

pub mod thread {
    pub use std::thread::{
        AccessError, LocalKey, Thread, ThreadId, current, panicking, park, sleep, yield_now,
    };

    /// loom runs all threads in one: nothing has to be `Send`.
    struct Anything<T>(T);
    unsafe impl<T> Send for Anything<T> {}

    impl<F: FnOnce() -> T, T> Anything<F> {
        #[inline]
        fn call(self) -> Anything<T> {
            Anything((self.0)())
        }
    }

    pub struct JoinHandle<T>(std::thread::JoinHandle<Anything<T>>);

    impl<T> JoinHandle<T> {
        #[inline]
        pub fn join(self) -> std::thread::Result<T> {
            match self.0.join() {
                Ok(value) => Ok(value.0),
                Err(error) => Err(error),
            }
        }
        #[inline]
        pub fn thread(&self) -> &Thread {
            self.0.thread()
        }
        #[inline]
        pub fn is_finished(&self) -> bool {
            self.0.is_finished()
        }
    }
    impl<T> std::fmt::Debug for JoinHandle<T> {
        fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            Ok(())
        }
    }

    #[inline]
    pub fn spawn<F, T>(f: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + 'static,
        T: 'static,
    {
        let f = Anything(f);
        JoinHandle(std::thread::spawn(move || f.call()))
    }

    #[derive(Debug, Default)]
    pub struct Builder(std::thread::Builder);

    impl Builder {
        #[inline]
        pub fn new() -> Self {
            Self(std::thread::Builder::new())
        }
        #[inline]
        pub fn name(self, name: String) -> Self {
            Self(self.0.name(name))
        }
        #[inline]
        pub fn stack_size(self, _: usize) -> Self {
            self
        }
        #[inline]
        pub fn spawn<F, T>(self, f: F) -> std::io::Result<JoinHandle<T>>
        where
            F: FnOnce() -> T + 'static,
            T: 'static,
        {
            let f = Anything(f);
            self.0.spawn(move || f.call()).map(JoinHandle)
        }
    }
}

pub mod sync {
    pub use std::sync::{
        Arc, Barrier, BarrierWaitResult, Condvar, LockResult, Mutex, MutexGuard, PoisonError,
        RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError, TryLockResult, WaitTimeoutResult,
        mpsc,
    };

    use std::sync::atomic::{AtomicU32, Ordering};

    /// A thread waits for another one.
    #[derive(Debug)]
    pub struct Notify(AtomicU32);

    impl Default for Notify {
        #[inline]
        fn default() -> Self {
            Self::new()
        }
    }

    impl Notify {
        #[inline]
        pub fn new() -> Self {
            Self(AtomicU32::new(0))
        }
        #[inline]
        pub fn notify(&self) {
            self.0.store(1, Ordering::Release);
        }
        #[inline]
        pub fn wait(&self) {
            std::__palisade::take(&self.0, 1, 0);
        }
    }

    pub mod atomic {
        pub use std::sync::atomic::{Ordering, compiler_fence, fence};
        use std::sync::atomic as real;

        /// The compiler's atomics, with what loom adds to them.
        macro_rules! atomic {
            ($($name:ident $(<$t:ident>)?, $value:ty;)*) => {$(
                pub struct $name $(<$t>)? (real::$name $(<$t>)?);

                impl $(<$t>)? $name $(<$t>)? {
                    #[inline]
                    pub const fn new(value: $value) -> Self {
                        Self(real::$name::new(value))
                    }
                    /// A plain load: it races with stores that nothing orders.
                    #[inline]
                    pub unsafe fn unsync_load(&self) -> $value {
                        // Else the compiler drops a load that nobody uses, and its race.
                        unsafe { self.0.as_ptr().read_volatile() }
                    }
                    #[inline]
                    pub fn with_mut<R>(&mut self, f: impl FnOnce(&mut $value) -> R) -> R {
                        f(self.0.get_mut())
                    }
                    #[inline]
                    pub fn into_inner(self) -> $value {
                        self.0.into_inner()
                    }
                    #[inline]
                    pub fn compare_and_swap(&self, current: $value, new: $value, order: Ordering) -> $value {
                        let failure = match order {
                            Ordering::Relaxed | Ordering::Release => Ordering::Relaxed,
                            Ordering::Acquire | Ordering::AcqRel => Ordering::Acquire,
                            _ => Ordering::SeqCst,
                        };
                        match self.0.compare_exchange(current, new, order, failure) {
                            Ok(value) | Err(value) => value,
                        }
                    }
                }
                impl $(<$t>)? std::ops::Deref for $name $(<$t>)? {
                    type Target = real::$name $(<$t>)?;
                    #[inline]
                    fn deref(&self) -> &Self::Target {
                        &self.0
                    }
                }
                impl $(<$t>)? std::ops::DerefMut for $name $(<$t>)? {
                    #[inline]
                    fn deref_mut(&mut self) -> &mut Self::Target {
                        &mut self.0
                    }
                }
                impl $(<$t>)? From<$value> for $name $(<$t>)? {
                    #[inline]
                    fn from(value: $value) -> Self {
                        Self::new(value)
                    }
                }
                impl $(<$t>)? std::fmt::Debug for $name $(<$t>)? {
                    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        self.0.fmt(f)
                    }
                }
            )*};
        }
        atomic! {
            AtomicBool, bool;
            AtomicI8, i8; AtomicI16, i16; AtomicI32, i32; AtomicI64, i64; AtomicIsize, isize;
            AtomicU8, u8; AtomicU16, u16; AtomicU32, u32; AtomicU64, u64; AtomicUsize, usize;
            AtomicPtr<T>, *mut T;
        }
        macro_rules! defaults {
            ($($name:ident)*) => {$(
                impl Default for $name {
                    #[inline]
                    fn default() -> Self {
                        Self::new(Default::default())
                    }
                }
            )*};
        }
        defaults! {
            AtomicBool AtomicI8 AtomicI16 AtomicI32 AtomicI64 AtomicIsize
            AtomicU8 AtomicU16 AtomicU32 AtomicU64 AtomicUsize
        }
        impl<T> Default for AtomicPtr<T> {
            #[inline]
            fn default() -> Self {
                Self::new(std::ptr::null_mut())
            }
        }
    }
}

pub mod cell {
    pub use std::cell::Cell;

    #[derive(Debug, Default)]
    pub struct UnsafeCell<T: ?Sized>(std::cell::UnsafeCell<T>);

    impl<T> UnsafeCell<T> {
        #[inline]
        pub const fn new(value: T) -> Self {
            Self(std::cell::UnsafeCell::new(value))
        }
        #[inline]
        pub fn into_inner(self) -> T {
            self.0.into_inner()
        }
    }
    impl<T: ?Sized> UnsafeCell<T> {
        #[inline]
        pub fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
            f(self.0.get())
        }
        #[inline]
        pub fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
            f(self.0.get())
        }
        #[inline]
        pub fn get(&self) -> ConstPtr<T> {
            ConstPtr(self.0.get())
        }
        #[inline]
        pub fn get_mut(&self) -> MutPtr<T> {
            MutPtr(self.0.get())
        }
    }

    /// A pointer to what a cell holds. (loom counts it as an access as long as it lives; here only
    /// what is read and written through it counts.)
    #[derive(Debug)]
    pub struct ConstPtr<T: ?Sized>(*const T);
    impl<T: ?Sized> ConstPtr<T> {
        #[inline]
        pub unsafe fn deref(&self) -> &T {
            unsafe { &*self.0 }
        }
        #[inline]
        pub fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
            f(self.0)
        }
    }

    #[derive(Debug)]
    pub struct MutPtr<T: ?Sized>(*mut T);
    impl<T: ?Sized> MutPtr<T> {
        #[inline]
        pub unsafe fn deref(&self) -> &mut T {
            unsafe { &mut *self.0 }
        }
        #[inline]
        pub fn with<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
            f(self.0)
        }
    }
}

pub mod lazy_static {
    /// A value that is made when it is first used.
    pub struct Lazy<T> {
        cell: std::sync::OnceLock<T>,
        make: fn() -> T,
    }
    unsafe impl<T> Sync for Lazy<T> {}

    impl<T> Lazy<T> {
        pub const fn new(make: fn() -> T) -> Self {
            Self { cell: std::sync::OnceLock::new(), make }
        }
    }
    impl<T> std::ops::Deref for Lazy<T> {
        type Target = T;
        #[inline]
        fn deref(&self) -> &T {
            self.cell.get_or_init(self.make)
        }
    }
}

#[macro_export]
macro_rules! lazy_static {
    ($($(#[$attribute:meta])* $visible:vis static ref $name:ident : $type:ty = $make:expr;)*) => {$(
        $(#[$attribute])*
        $visible static $name: $crate::lazy_static::Lazy<$type> =
            $crate::lazy_static::Lazy::new(|| $make);
    )*};
}
