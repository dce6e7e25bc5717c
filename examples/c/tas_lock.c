/* A test-and-set lock ([Donaldson et al., CAV 2011]: Tas Lock).
 * expect: sc=holds tso=holds pso=holds */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

int owner;

atomic_flag taken = ATOMIC_FLAG_INIT;

static void acquire(void) {
  while (atomic_flag_test_and_set(&taken))
    ;
}

static void release(void) {
  atomic_flag_clear(&taken);
}

static void *run(void *arg) {
  int me = (int)(long)arg;
  acquire();
  owner = me;
  assert(owner == me);
  release();
  return NULL;
}

int main(void) {
  pthread_t t[2];
  for (int i = 0; i < 2; i++)
    pthread_create(&t[i], NULL, run, (void *)(long)(i + 1));
  for (int i = 0; i < 2; i++)
    pthread_join(t[i], NULL);
  return 0;
}
