/* A store instead of compare-and-swap: a cell gets lost.
 * expect: sc=violated tso=violated pso=violated */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

/* Cells are numbered from 1; 0 is the end of the list. */
int next[3];
atomic_int top;

static void push(int cell) {
  next[cell] = atomic_load(&top);
  atomic_store(&top, cell);
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
