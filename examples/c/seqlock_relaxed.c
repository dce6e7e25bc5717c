/* The sequence lock without release: under PSO the data may come after the number.
 * expect: sc=holds tso=holds pso=violated */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

atomic_uint sequence;
int first, second;

static void *writer(void *unused) {
  (void)unused;
  atomic_store_explicit(&sequence, 1, memory_order_relaxed);
  first = 1;
  second = 1;
  atomic_store_explicit(&sequence, 2, memory_order_relaxed);
  return NULL;
}

static void *reader(void *unused) {
  (void)unused;
  for (;;) {
    unsigned before = atomic_load_explicit(&sequence, memory_order_acquire);
    int f = first, s = second;
    atomic_thread_fence(memory_order_acquire);
    if (before % 2 == 0 && atomic_load_explicit(&sequence, memory_order_relaxed) == before) {
      assert(f == s);
      return NULL;
    }
  }
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, NULL, writer, NULL);
  pthread_create(&b, NULL, reader, NULL);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  return 0;
}
