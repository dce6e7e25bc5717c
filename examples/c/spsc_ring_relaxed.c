/* The ring buffer without release: under PSO the item may come after the tail.
 * expect: sc=holds tso=holds pso=violated */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

enum { SIZE = 2, ITEMS = 3 };
int slots[SIZE];
atomic_uint head, tail;

static void *producer(void *unused) {
  (void)unused;
  for (unsigned i = 0; i < ITEMS; i++) {
    while (i - atomic_load_explicit(&head, memory_order_acquire) == SIZE)
      ;
    slots[i % SIZE] = (int)i + 1;
    atomic_store_explicit(&tail, i + 1, memory_order_relaxed);
  }
  return NULL;
}

static void *consumer(void *unused) {
  (void)unused;
  for (unsigned i = 0; i < ITEMS; i++) {
    while (atomic_load_explicit(&tail, memory_order_acquire) == i)
      ;
    assert(slots[i % SIZE] == (int)i + 1);
    atomic_store_explicit(&head, i + 1, memory_order_release);
  }
  return NULL;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, NULL, producer, NULL);
  pthread_create(&b, NULL, consumer, NULL);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  return 0;
}
