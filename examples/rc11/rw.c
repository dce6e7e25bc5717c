/* Readers and a writer around one word, for ever: -1 is the writer, else it is the number of readers.
 * expect: rc11=holds */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

atomic_int word;
int a, b;

static void *writer(void *unused) {
  (void)unused;
  while (1) {
    int free = 0;
    while (!atomic_compare_exchange_weak_explicit(&word, &free, -1, memory_order_acquire,
                                                  memory_order_relaxed))
      free = 0;
    a = 1 - a;
    b = 1 - b;
    atomic_store_explicit(&word, 0, memory_order_release);
  }
}

static void *reader(void *unused) {
  (void)unused;
  while (1) {
    int readers = atomic_load_explicit(&word, memory_order_relaxed);
    if (readers < 0 ||
        !atomic_compare_exchange_weak_explicit(&word, &readers, readers + 1,
                                               memory_order_acquire, memory_order_relaxed))
      continue;
    assert(a == b);
    atomic_fetch_sub_explicit(&word, 1, memory_order_release);
  }
}

int main(void) {
  pthread_t x, y;
  pthread_create(&x, 0, writer, 0);
  pthread_create(&y, 0, reader, 0);
  pthread_join(x, 0);
  pthread_join(y, 0);
}
