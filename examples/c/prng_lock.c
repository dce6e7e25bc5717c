/* A generator of pseudo-random numbers behind a lock ([Donaldson et al., CAV 2011]: Prng, lock-based).
 * expect: sc=holds tso=holds pso=holds */
#include <assert.h>
#include <pthread.h>

int seed = 1;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int next(int s) {
  return s % 5 + 1;
}

static void *worker(void *unused) {
  int before, after;
  (void)unused;
  pthread_mutex_lock(&lock);
  before = seed;
  after = next(before);
  seed = after;
  assert(seed == after && after != before);
  pthread_mutex_unlock(&lock);
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
