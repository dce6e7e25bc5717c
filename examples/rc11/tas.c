/* Test-and-set lock that two threads take for ever.
 * expect: rc11=holds */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

atomic_flag held = ATOMIC_FLAG_INIT;
int counter;

static void *run(void *unused) {
  (void)unused;
  while (1) {
    while (atomic_flag_test_and_set_explicit(&held, memory_order_acquire))
      ;
    counter++;
    assert(counter == 1);
    counter--;
    atomic_flag_clear_explicit(&held, memory_order_release);
  }
}

int main(void) {
  pthread_t x, y;
  pthread_create(&x, 0, run, 0);
  pthread_create(&y, 0, run, 0);
  pthread_join(x, 0);
  pthread_join(y, 0);
}
