/* A counter behind a lock that does not overflow. */
#include <assert.h>
#include <limits.h>
#include <pthread.h>

unsigned value;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *worker(void *unused) {
  unsigned mine;
  (void)unused;
  pthread_mutex_lock(&lock);
  if (value == UINT_MAX) {
    pthread_mutex_unlock(&lock);
    return NULL;
  }
  mine = value;
  value = mine + 1;
  pthread_mutex_unlock(&lock);
  assert(value > mine);
  return NULL;
}

int main(void) {
  pthread_t t;
  while (1)
    pthread_create(&t, NULL, worker, NULL);
}
