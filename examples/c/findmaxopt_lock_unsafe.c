/* The comparison stands outside of the lock.
 * expect: sc=violated tso=violated pso=violated */
#include <assert.h>
#include <pthread.h>


int data[4] = {3, 1, 4, 2};
int max;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void offer(int value) {
  if (value > max) {
    pthread_mutex_lock(&lock);
    max = value;
    pthread_mutex_unlock(&lock);
  }
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
