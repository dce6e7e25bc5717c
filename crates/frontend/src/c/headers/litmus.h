/* What litmus tests in C may use without including anything: types and memory
   orders by the names of C11 and of the kernel, and the kernel's functions that
   are more than one operation of the compiler. There is nothing to preprocess. */
typedef signed char int8_t, s8, __s8, schar;
typedef unsigned char uint8_t, u8, __u8, uchar;
typedef short int16_t, s16, __s16;
typedef unsigned short uint16_t, u16, __u16, ushort;
typedef int int32_t, s32, __s32, atomic_t, spinlock_t;
typedef unsigned int uint32_t, u32, __u32, uint;
typedef long int64_t, s64, __s64, intptr_t, intmax_t, ptrdiff_t, ssize_t, llong;
typedef long atomic64_t, atomic_long_t;
typedef unsigned long uint64_t, u64, __u64, uintptr_t, uintmax_t, size_t, ulong, ullong;
typedef _Bool bool;
typedef _Atomic(_Bool) atomic_bool;
typedef _Atomic(signed char) atomic_char, atomic_schar, atomic_int8_t;
typedef _Atomic(unsigned char) atomic_uchar, atomic_uint8_t;
typedef _Atomic(short) atomic_short, atomic_int16_t;
typedef _Atomic(unsigned short) atomic_ushort, atomic_uint16_t;
typedef _Atomic(int) atomic_int, atomic_int32_t;
typedef _Atomic(unsigned int) atomic_uint, atomic_uint32_t;
typedef _Atomic(long) atomic_long, atomic_llong, atomic_int64_t, atomic_intptr_t;
typedef _Atomic(long) atomic_intmax_t, atomic_ptrdiff_t, atomic_ssize_t;
typedef _Atomic(unsigned long) atomic_ulong, atomic_ullong, atomic_uint64_t;
typedef _Atomic(unsigned long) atomic_uintptr_t, atomic_uintmax_t, atomic_size_t;
enum { NULL, false = 0, true };
typedef enum {
  memory_order_relaxed,
  memory_order_consume,
  memory_order_acquire,
  memory_order_release,
  memory_order_acq_rel,
  memory_order_seq_cst
} memory_order;

static void spin_lock(spinlock_t *lock) {
  __VERIFIER_atomic_begin();
  __VERIFIER_assume(*lock == 0);
  *lock = 1;
  __VERIFIER_atomic_end();
}
static int spin_trylock(spinlock_t *lock) {
  return __sync_bool_compare_and_swap(lock, 0, 1);
}
static void spin_unlock(spinlock_t *lock) {
  __atomic_store_n(lock, 0, memory_order_release);
}
static int __add_unless(int *at, int by, int unless) {
  int old;
  __VERIFIER_atomic_begin();
  old = *at;
  if (old != unless)
    *at = old + by;
  __VERIFIER_atomic_end();
  return old != unless;
}
static int __add_unless_long(long *at, long by, long unless) {
  long old;
  __VERIFIER_atomic_begin();
  old = *at;
  if (old != unless)
    *at = old + by;
  __VERIFIER_atomic_end();
  return old != unless;
}
