/* Each thread reduces its part first ([Donaldson et al., CAV 2011]: FindMaxOpt, cas-based).
 * expect: sc=holds tso=holds pso=holds */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

int data[4] = {3, 1, 4, 2};
atomic_int max;

static void offer(int value) {
  int seen = atomic_load(&max);
  while (value > seen && !atomic_compare_exchange_strong(&max, &seen, value))
    ;
}

static void *worker(void *arg) {
  int from = (int)(long)arg;
  int best = data[from];
  if (data[from + 1] > best)
    best = data[from + 1];
  offer(best);
  return NULL;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, NULL, worker, (void *)0);
  pthread_create(&b, NULL, worker, (void *)2);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  for (int i = 0; i < 4; i++)
    assert(data[i] <= max);
  return 0;
}
