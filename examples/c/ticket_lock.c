/* The ticket spinlock of Linux ([Donaldson et al., CAV 2011]: Ticket Lock).
 * expect: sc=holds tso=holds pso=holds */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

int owner;

atomic_uint next_ticket, now_serving;

static void acquire(void) {
  unsigned mine = atomic_fetch_add(&next_ticket, 1);
  while (atomic_load_explicit(&now_serving, memory_order_acquire) != mine)
    ;
}

static void release(void) {
  unsigned now = atomic_load_explicit(&now_serving, memory_order_relaxed);
  atomic_store_explicit(&now_serving, now + 1, memory_order_release);
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
