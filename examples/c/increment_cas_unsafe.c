/* A store instead of compare-and-swap: increments get lost.
 * expect: sc=violated tso=violated pso=violated */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

atomic_uint value;

static void *worker(void *unused) {
  unsigned mine;
  (void)unused;
  mine = atomic_load(&value);
  atomic_store(&value, mine + 1);
  assert(atomic_load(&value) == 1 + mine);
  return NULL;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, NULL, worker, NULL);
  pthread_create(&b, NULL, worker, NULL);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  return 0;
}
