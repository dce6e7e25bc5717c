/* Up and down with compare-and-swap ([Donaldson et al., CAV 2011]: Inc./Dec., cas-based).
 * expect: sc=holds tso=holds pso=holds */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

atomic_uint value;

static void *up(void *unused) {
  unsigned seen = atomic_load(&value);
  (void)unused;
  while (!atomic_compare_exchange_strong(&value, &seen, seen + 1))
    ;
  return NULL;
}

static void *down(void *unused) {
  unsigned seen = atomic_load(&value);
  (void)unused;
  while (seen != 0 && !atomic_compare_exchange_strong(&value, &seen, seen - 1))
    ;
  assert(atomic_load(&value) <= 1);
  return NULL;
}

int main(void) {
  pthread_t a, b, c;
  pthread_create(&a, NULL, up, NULL);
  pthread_create(&b, NULL, down, NULL);
  pthread_create(&c, NULL, down, NULL);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  pthread_join(c, NULL);
  return 0;
}
