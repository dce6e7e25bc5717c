/* Message passing, again and again: the flag is read relaxed.
 * expect: rc11=violated */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

atomic_bool full;
int data;

static void *sender(void *unused) {
  (void)unused;
  for (int item = 0;; item = 1 - item) {
    while (atomic_load_explicit(&full, memory_order_acquire))
      ;
    data = item;
    atomic_store_explicit(&full, 1, memory_order_release);
  }
}

static void *receiver(void *unused) {
  (void)unused;
  for (int item = 0;; item = 1 - item) {
    while (!/* wait */ atomic_load_explicit(&full, memory_order_relaxed))
      ;
    assert(data == item);
    atomic_store_explicit(&full, 0, memory_order_release);
  }
}

int main(void) {
  pthread_t x, y;
  pthread_create(&x, 0, sender, 0);
  pthread_create(&y, 0, receiver, 0);
  pthread_join(x, 0);
  pthread_join(y, 0);
}
