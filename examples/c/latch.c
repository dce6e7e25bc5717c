/* The latch pattern of PostgreSQL without barriers: a wake-up gets lost.
 * expect: sc=holds tso=violated pso=violated */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

/* The waiter clears its latch, then looks for work, then sleeps if there is none.
   The worker hands out work, then sets the latch of a waiter that is not awake. A
   wake-up is lost if the waiter sleeps although there is work and nobody woke it. */
volatile int latch = 1, work, asleep;

static void *waiter(void *unused) {
  (void)unused;
  latch = 0;
  if (!work)
    asleep = 1;
  return NULL;
}

static void *worker(void *unused) {
  (void)unused;
  work = 1;
  if (!latch)
    latch = 1;
  return NULL;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, NULL, waiter, NULL);
  pthread_create(&b, NULL, worker, NULL);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  assert(!(asleep && work && !latch));
  return 0;
}
