/* A counter with compare-and-swap ([Donaldson et al., CAV 2011, section 5]: Increment, cas-based).
 * expect: sc=holds tso=holds pso=holds */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

atomic_uint value;

static void *worker(void *unused) {
  unsigned mine;
  (void)unused;
  mine = atomic_load(&value);
  while (!atomic_compare_exchange_strong(&value, &mine, mine + 1))
    ;
  assert(atomic_load(&value) > mine);
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
