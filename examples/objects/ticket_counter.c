// A counter under a ticket lock, with a specification of its own.
// expect: linearizable
#include <stdatomic.h>

/*@ spec {
      shared int n = 0;
      operation add(int by) returns int { n = n + by; return n; }
      operation read() returns int { return n; }
    }
    method counter_add as add;
    method counter_read as read; */

typedef struct {
  atomic_uint next, serving;
} ticket_t;

struct counter {
  ticket_t lock;
  int n;
};

static void acquire(ticket_t *l) {
  unsigned mine = atomic_fetch_add(&l->next, 1);
  while (atomic_load_explicit(&l->serving, memory_order_acquire) != mine)
    ;
}

static void release(ticket_t *l) {
  unsigned now = atomic_load_explicit(&l->serving, memory_order_relaxed);
  atomic_store_explicit(&l->serving, now + 1, memory_order_release);
}

int counter_add(struct counter *c, int by) {
  acquire(&c->lock);
  c->n += by;
  int result = c->n;
  release(&c->lock);
  return result;
}

int counter_read(struct counter *c) {
  acquire(&c->lock);
  int result = c->n;
  release(&c->lock);
  return result;
}
