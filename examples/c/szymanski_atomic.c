/* Szymanski's algorithm on sequentially consistent atomics.
 * expect: sc=holds tso=holds pso=holds */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

atomic_int flag[2];

int owner;

static void *run(void *arg) {
  int me = (int)(long)arg, other = 1 - me;
  flag[me] = 1;
  while (flag[other] >= 3)
    ;
  flag[me] = 3;
  if (flag[other] == 1) {
    flag[me] = 2;
    while (flag[other] != 4)
      ;
  }
  flag[me] = 4;
  if (me == 1)
    while (flag[0] >= 2)
      ;
  owner = me;
  assert(owner == me);
  if (me == 0)
    while (flag[1] == 2 || flag[1] == 3)
      ;
  flag[me] = 0;
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
