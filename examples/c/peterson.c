/* Peterson's algorithm on plain variables.
 * expect: sc=holds tso=violated pso=violated */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

volatile int flag[2], turn;

int owner;

static void *run(void *arg) {
  int me = (int)(long)arg, other = 1 - me;
  flag[me] = 1;
  turn = other;
  while (flag[other] && turn == other)
    ;
  owner = me;
  assert(owner == me);
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
