/* A counter behind a lock ([Donaldson et al., CAV 2011, section 5]: Increment, lock-based).
 * expect: sc=holds tso=holds pso=holds */
#include <assert.h>
#include <pthread.h>

unsigned value;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *worker(void *unused) {
  unsigned mine;
  (void)unused;
  pthread_mutex_lock(&lock);
  mine = value;
  value = mine + 1;
  pthread_mutex_unlock(&lock);
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
