/* Ticket lock whose numbers wrap around, taken for ever: the store that hands over is relaxed.
 * expect: rc11=violated */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

atomic_uint next, serving;
int counter;

static void *run(void *unused) {
  (void)unused;
  while (1) {
    unsigned mine = atomic_fetch_add_explicit(&next, 1, memory_order_acq_rel);
    while (atomic_load_explicit(&serving, memory_order_acquire) != mine)
      ;
    counter++;
    assert(counter == 1);
    counter--;
    atomic_store_explicit(&serving, mine + 1, memory_order_relaxed);
  }
}

int main(void) {
  pthread_t x, y;
  pthread_create(&x, 0, run, 0);
  pthread_create(&y, 0, run, 0);
  pthread_join(x, 0);
  pthread_join(y, 0);
}
