/* The number is checked after the lock is gone.
 * expect: sc=violated tso=violated pso=violated */
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
  pthread_mutex_unlock(&lock);
  assert(seed == after);
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
