/* Lamport's fast mutual exclusion on sequentially consistent atomics.
 * expect: sc=holds tso=holds pso=holds */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

atomic_int b[2], x, y;

int owner;

static void *run(void *arg) {
  int me = (int)(long)arg, other = 1 - me;
start:
  b[me] = 1;
  x = me + 1;
  if (y != 0) {
    b[me] = 0;
    while (y != 0)
      ;
    goto start;
  }
  y = me + 1;
  if (x != me + 1) {
    b[me] = 0;
    while (b[other])
      ;
    if (y != me + 1) {
      while (y != 0)
        ;
      goto start;
    }
  }
  owner = me;
  assert(owner == me);
  y = 0;
  b[me] = 0;
  return NULL;
}

int main(void) {
  pthread_t t[2];
  for (int i = 0; i < 2; i++)
    pthread_create(&t[i], NULL, run, (void *)(long)i);
  for (int i = 0; i < 2; i++)
    pthread_join(t[i], NULL);
  return 0;
}
