/* Tickets are drawn by a load and a store: two threads get the same one.
 * expect: sc=violated tso=violated pso=violated */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

int owner;

atomic_uint next_ticket, now_serving;

static void acquire(void) {
  unsigned mine = atomic_load(&next_ticket);
  atomic_store(&next_ticket, mine + 1);
  while (atomic_load(&now_serving) != mine)
    ;
}

static void release(void) {
  atomic_fetch_add(&now_serving, 1);
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
