/* Lock that is looked at before it is tried, taken for ever: the exchange is relaxed.
 * expect: rc11=violated */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

atomic_bool held;
int counter;

static void acquire(void) {
  do {
    while (atomic_load_explicit(&held, memory_order_relaxed))
      ;
  } while (atomic_exchange_explicit(&held, 1, memory_order_relaxed));
}

static void *run(void *unused) {
  (void)unused;
  while (1) {
    acquire();
    counter++;
    assert(counter == 1);
    counter--;
    atomic_store_explicit(&held, 0, memory_order_release);
  }
}

int main(void) {
  pthread_t x, y;
  pthread_create(&x, 0, run, 0);
  pthread_create(&y, 0, run, 0);
  pthread_join(x, 0);
  pthread_join(y, 0);
}
