/* Dekker's algorithm with fences.
 * expect: sc=holds tso=holds pso=holds */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

volatile int wants[2], turn;

int owner;

static void *run(void *arg) {
  int me = (int)(long)arg, other = 1 - me;
  wants[me] = 1;
  atomic_thread_fence(memory_order_seq_cst);
  while (wants[other]) {
    if (turn != me) {
      wants[me] = 0;
      while (turn != me)
        ;
      wants[me] = 1;
  atomic_thread_fence(memory_order_seq_cst);
    }
  }
  owner = me;
  assert(owner == me);
  atomic_thread_fence(memory_order_seq_cst);
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
