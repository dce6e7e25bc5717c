/* Ring between one producer and one consumer; its indices wrap around.
 * expect: rc11=holds */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#define SIZE 4
_Atomic unsigned long head, tail;
int slots[SIZE];

static void *producer(void *unused) {
  (void)unused;
  int item = 0;
  while (1) {
    unsigned long h = atomic_load_explicit(&head, memory_order_relaxed);
    while (h - atomic_load_explicit(&tail, memory_order_acquire) >= SIZE)
      ;
    slots[h % SIZE] = item;
    item = 1 - item;
    atomic_store_explicit(&head, h + 1, memory_order_release);
  }
}

static void *consumer(void *unused) {
  (void)unused;
  int item = 0;
  while (1) {
    unsigned long t = atomic_load_explicit(&tail, memory_order_relaxed);
    while (atomic_load_explicit(&head, memory_order_acquire) == t)
      ;
    assert(slots[t % SIZE] == item);
    item = 1 - item;
    atomic_store_explicit(&tail, t + 1, memory_order_release);
  }
}

int main(void) {
  pthread_t x, y;
  pthread_create(&x, 0, producer, 0);
  pthread_create(&y, 0, consumer, 0);
  pthread_join(x, 0);
  pthread_join(y, 0);
}
