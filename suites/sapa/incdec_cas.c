/* A counter that goes up and down with compare-and-swap. */
#include <assert.h>
#include <limits.h>
#include <pthread.h>
extern _Bool __VERIFIER_nondet_bool(void);

unsigned value;
/* Whether some thread counts up, or down. */
int up, down;

static void increment(void) {
  unsigned mine, now;
  do {
    mine = value;
    if (mine == UINT_MAX)
      return;
    up = 1;
  } while (!__sync_bool_compare_and_swap(&value, mine, mine + 1));
  now = value;
  assert(now > mine || down);
}

static void decrement(void) {
  unsigned mine, now;
  do {
    mine = value;
    if (mine == 0)
      return;
    down = 1;
  } while (!__sync_bool_compare_and_swap(&value, mine, mine - 1));
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
