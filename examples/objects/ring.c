// Lamport's ring: one thread puts, one takes.
// expect: linearizable
#include <stdatomic.h>
#include <stdbool.h>

#define SIZE 2

/*@ spec {
      shared data first; shared data second; shared int n = 0;
      operation put(data v) returns bool {
        if (n == 2) return false;
        if (n == 0) first = v; else second = v;
        n = n + 1;
        return true;
      }
      operation take() returns data {
        data v;
        if (n == 0) return empty;
        v = first; first = second; n = n - 1;
        return v;
      }
    }
    method ring_put as put by producer;
    method ring_take as take by consumer; */

struct ring {
  atomic_uint head, tail;
  int slots[SIZE];
};

bool ring_put(struct ring *r, int value) {
  unsigned tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
  unsigned head = atomic_load_explicit(&r->head, memory_order_acquire);
  if (tail - head == SIZE)
    return false;
  r->slots[tail % SIZE] = value;
  atomic_store_explicit(&r->tail, tail + 1, memory_order_release);
  return true;
}

bool ring_take(struct ring *r, int *value) {
  unsigned head = atomic_load_explicit(&r->head, memory_order_relaxed);
  unsigned tail = atomic_load_explicit(&r->tail, memory_order_acquire);
  if (head == tail)
    return false;
  *value = r->slots[head % SIZE];
  atomic_store_explicit(&r->head, head + 1, memory_order_release);
  return true;
}
