/* Dekker's algorithm without fences: plain stores wait in buffers.
 * expect: sc=holds tso=violated pso=violated */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

volatile int wants[2], turn;

int owner;

static void *run(void *arg) {
  int me = (int)(long)arg, other = 1 - me;
  wants[me] = 1;
  while (wants[other]) {
    if (turn != me) {
      wants[me] = 0;
      while (turn != me)
        ;
      wants[me] = 1;
    }
  }
  owner = me;
  assert(owner == me);
  turn = other;
  wants[me] = 0;
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
