/* The thread that counts down forgets the lock.
 * expect: sc=violated tso=violated pso=violated */
#include <assert.h>
#include <pthread.h>

int value, inside;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *up(void *unused) {
  (void)unused;
  pthread_mutex_lock(&lock);
  inside = 1;
  value = value + 1;
  assert(inside && value > 0);
  inside = 0;
  pthread_mutex_unlock(&lock);
  return NULL;
}

static void *down(void *unused) {
  (void)unused;

  if (value > 0)
    value = value - 1;

  return NULL;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, NULL, up, NULL);
  pthread_create(&b, NULL, down, NULL);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  return 0;
}
