/* The link is made before the lock is taken: a cell gets lost.
 * expect: sc=violated tso=violated pso=violated */
#include <assert.h>
#include <pthread.h>


/* Cells are numbered from 1; 0 is the end of the list. */
int next[3];
int top;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void push(int cell) {
  next[cell] = top;
  pthread_mutex_lock(&lock);
  top = cell;
  pthread_mutex_unlock(&lock);
}

static void *worker(void *arg) {
  push((int)(long)arg);
  return NULL;
}

int main(void) {
  pthread_t a, b;
  int length = 0;
  pthread_create(&a, NULL, worker, (void *)1);
  pthread_create(&b, NULL, worker, (void *)2);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  for (int cell = top; cell != 0; cell = next[cell])
    length++;
  assert(length == 2);
  return 0;
}
