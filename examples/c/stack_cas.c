/* A stack with compare-and-swap ([Donaldson et al., CAV 2011]: Stack, cas-based).
 * expect: sc=holds tso=holds pso=holds */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

/* Cells are numbered from 1; 0 is the end of the list. */
int next[3];
atomic_int top;

static void push(int cell) {
  int old = atomic_load(&top);
  do {
    next[cell] = old;
  } while (!atomic_compare_exchange_weak(&top, &old, cell));
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
