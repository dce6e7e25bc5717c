/* A counter with compare-and-swap. */
#include <assert.h>
#include <limits.h>
#include <pthread.h>

unsigned value;

static void *worker(void *unused) {
  unsigned mine;
  (void)unused;
  do {
    mine = value;
    if (mine == UINT_MAX)
      return NULL;
  } while (!__sync_bool_compare_and_swap(&value, mine, mine + 1));
  assert(value > mine);
  return NULL;
}

int main(void) {
  pthread_t t;
  while (1)
    pthread_create(&t, NULL, worker, NULL);
}
