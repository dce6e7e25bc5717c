/* The greatest element, first of the own part, with compare-and-swap. */
#include <assert.h>
#include <pthread.h>
extern int __VERIFIER_nondet_int(void);

int max = -1;

static void offer(int element) {
  int seen;
  do {
    seen = max;
    if (element <= seen)
      return;
  } while (!__sync_bool_compare_and_swap(&max, seen, element));
}

static void *worker(void *unused) {
  int best = -1;
  (void)unused;
  for (int i = 0; i < 2; i++) {
    int element = __VERIFIER_nondet_int();
    if (element > best)
      best = element;
    assert(element <= best);
  }
  offer(best);
  assert(best <= max);
  return NULL;
}

int main(void) {
  pthread_t t;
  while (1)
    pthread_create(&t, NULL, worker, NULL);
}
