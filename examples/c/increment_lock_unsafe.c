/* The lock is released too early: an increment gets lost.
 * expect: sc=violated tso=violated pso=violated */
#include <assert.h>
#include <pthread.h>

unsigned value;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *worker(void *unused) {
  unsigned mine;
  (void)unused;
  pthread_mutex_lock(&lock);
  pthread_mutex_unlock(&lock);
  mine = value;
  value = mine + 1;

  assert(value > mine);
  return NULL;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, NULL, worker, NULL);
  pthread_create(&b, NULL, worker, NULL);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  assert(value == 2);
  return 0;
}
