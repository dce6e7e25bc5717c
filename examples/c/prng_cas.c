/* The generator with compare-and-swap ([Donaldson et al., CAV 2011]: Prng, cas-based).
 * expect: sc=holds tso=holds pso=holds */
#include <assert.h>
#include <pthread.h>

int seed = 1;

static int next(int s) {
  return s % 5 + 1;
}

static void *worker(void *unused) {
  int before, after;
  (void)unused;
  do {
    before = seed;
    after = next(before);
    assert(after != before);
  } while (!__sync_bool_compare_and_swap(&seed, before, after));
  assert(seed >= 1 && seed <= 5);

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
