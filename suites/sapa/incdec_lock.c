/* A counter that goes up and down behind a lock. */
#include <assert.h>
#include <limits.h>
#include <pthread.h>
extern _Bool __VERIFIER_nondet_bool(void);

unsigned value;
/* Whether some thread counts up, or down. */
int up, down;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void increment(void) {
  unsigned mine, now;
  pthread_mutex_lock(&lock);
  if (value == UINT_MAX) {
    pthread_mutex_unlock(&lock);
    return;
  }
  mine = value;
  up = 1;
  value = mine + 1;
  pthread_mutex_unlock(&lock);
  now = value;
  assert(now > mine || down);
}

static void decrement(void) {
  unsigned mine, now;
  pthread_mutex_lock(&lock);
  if (value == 0) {
    pthread_mutex_unlock(&lock);
    return;
  }
  mine = value;
  down = 1;
  value = mine - 1;
  pthread_mutex_unlock(&lock);
  now = value;
  assert(now < mine || up);
}

static void *worker(void *unused) {
  (void)unused;
  if (__VERIFIER_nondet_bool())
    increment();
  else
    decrement();
  return NULL;
}

int main(void) {
  pthread_t t;
  while (1)
    pthread_create(&t, NULL, worker, NULL);
}
