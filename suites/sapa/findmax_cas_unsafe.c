/* Two threads: a failed compare-and-swap is not tried again. */
#include <assert.h>
#include <pthread.h>
extern int __VERIFIER_nondet_int(void);

int max = -1;

static void offer(int element) {
  int seen = max;
  if (element > seen)
    __sync_bool_compare_and_swap(&max, seen, element);
}

static void *worker(void *unused) {
  (void)unused;
  for (int i = 0; i < 2; i++) {
    int element = __VERIFIER_nondet_int();
    offer(element);
    assert(element <= max);
  }
  return NULL;
}

int main(void) {
  pthread_t t;
  while (1)
    pthread_create(&t, NULL, worker, NULL);
}
