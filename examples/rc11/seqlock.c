/* Sequence lock with three writes, read for ever. (A writer without end is unknown: versions of 32 bits come again.)
 * expect: rc11=holds */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

atomic_uint version;
atomic_int a, b;

static void *writer(void *unused) {
  (void)unused;
  for (int i = 1; i <= 3; i++) {
    unsigned v = atomic_load_explicit(&version, memory_order_relaxed);
    atomic_store_explicit(&version, v + 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&a, i, memory_order_relaxed);
    atomic_store_explicit(&b, i, memory_order_relaxed);
    atomic_store_explicit(&version, v + 2, memory_order_release);
  }
  return 0;
}

static void *reader(void *unused) {
  (void)unused;
  while (1) {
    unsigned v = atomic_load_explicit(&version, memory_order_acquire);
    if (v % 2)
      continue;
    int x = atomic_load_explicit(&a, memory_order_relaxed);
    int y = atomic_load_explicit(&b, memory_order_relaxed);
    atomic_thread_fence(memory_order_acquire);
    if (atomic_load_explicit(&version, memory_order_relaxed) == v)
      assert(x == y);
  }
}

int main(void) {
  pthread_t x, y;
  pthread_create(&x, 0, writer, 0);
  pthread_create(&y, 0, reader, 0);
  pthread_join(x, 0);
  pthread_join(y, 0);
}
