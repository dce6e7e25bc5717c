/* Dekker's lock, taken for ever: the look at the other flag is an acquire load.
 * expect: rc11=violated */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

atomic_int flag[2], turn;
int counter;

static void *run(void *arg) {
  int me = (int)(long)arg, other = 1 - me;
  while (1) {
    atomic_store_explicit(&flag[me], 1, memory_order_seq_cst);
    while (atomic_load_explicit(&flag[other], memory_order_acquire)) {
      if (atomic_load_explicit(&turn, memory_order_relaxed) != me) {
        atomic_store_explicit(&flag[me], 0, memory_order_relaxed);
        while (atomic_load_explicit(&turn, memory_order_relaxed) != me)
          ;
        atomic_store_explicit(&flag[me], 1, memory_order_seq_cst);
      }
    }
    counter++;
    assert(counter == 1);
    counter--;
    atomic_store_explicit(&turn, other, memory_order_relaxed);
    atomic_store_explicit(&flag[me], 0, memory_order_release);
  }
}

int main(void) {
  pthread_t x, y;
  pthread_create(&x, 0, run, (void *)0);
  pthread_create(&y, 0, run, (void *)1);
  pthread_join(x, 0);
  pthread_join(y, 0);
}
