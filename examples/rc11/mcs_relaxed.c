/* MCS lock, taken for ever: the lock is handed over by a relaxed store.
 * expect: rc11=violated */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

struct node {
  _Atomic(struct node *) next;
  atomic_int waits;
};
_Atomic(struct node *) tail;
struct node nodes[2];
int counter;

static void acquire(struct node *me) {
  atomic_store_explicit(&me->next, 0, memory_order_relaxed);
  atomic_store_explicit(&me->waits, 1, memory_order_relaxed);
  struct node *before = atomic_exchange_explicit(&tail, me, memory_order_acq_rel);
  if (before) {
    atomic_store_explicit(&before->next, me, memory_order_release);
    while (atomic_load_explicit(&me->waits, memory_order_acquire))
      ;
  }
}

static void release(struct node *me) {
  struct node *after = atomic_load_explicit(&me->next, memory_order_acquire);
  if (!after) {
    struct node *last = me;
    if (atomic_compare_exchange_strong_explicit(&tail, &last, 0, memory_order_release,
                                                memory_order_relaxed))
      return;
    while (!(after = atomic_load_explicit(&me->next, memory_order_acquire)))
      ;
  }
  atomic_store_explicit(&after->waits, 0, memory_order_relaxed);
}

static void *run(void *node) {
  while (1) {
    acquire(node);
    counter++;
    assert(counter == 1);
    counter--;
    release(node);
  }
}

int main(void) {
  pthread_t x, y;
  pthread_create(&x, 0, run, &nodes[0]);
  pthread_create(&y, 0, run, &nodes[1]);
  pthread_join(x, 0);
  pthread_join(y, 0);
}
