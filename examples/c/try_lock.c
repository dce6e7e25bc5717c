/* A try-lock from a code review: each thread announces itself, then looks for the other.
 * expect: sc=holds tso=violated pso=violated */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

atomic_int want[2], inside;

static void *worker(void *second) {
  int me = second != NULL;
  atomic_store_explicit(&want[me], 1, memory_order_relaxed);
  if (atomic_load_explicit(&want[1 - me], memory_order_relaxed) == 0) {
    assert(atomic_fetch_add(&inside, 1) == 0);
    atomic_fetch_sub(&inside, 1);
  }
  return NULL;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, NULL, worker, NULL);
  pthread_create(&b, NULL, worker, &inside);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
}
