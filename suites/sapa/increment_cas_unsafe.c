/* Two threads: a store instead of compare-and-swap. */
#include <assert.h>
#include <limits.h>
#include <pthread.h>

unsigned value;

static void *worker(void *unused) {
  unsigned mine;
  (void)unused;
  mine = value;
  if (mine == UINT_MAX)
    return NULL;
  value = mine + 1;
  assert(value == mine + 1);
  return NULL;
}

int main(void) {
  pthread_t t;
  while (1)
    pthread_create(&t, NULL, worker, NULL);
}
