/* The greatest element, found by two threads ([Donaldson et al., CAV 2011]: FindMax, lock-based).
 * expect: sc=holds tso=holds pso=holds */
#include <assert.h>
#include <pthread.h>


int data[4] = {3, 1, 4, 2};
int max;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void offer(int value) {
  pthread_mutex_lock(&lock);
  if (value > max)
    max = value;
  pthread_mutex_unlock(&lock);
}

static void *worker(void *arg) {
  int from = (int)(long)arg;
  for (int i = from; i < from + 2; i++)
    offer(data[i]);
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
