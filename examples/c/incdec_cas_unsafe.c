/* Two threads take away the same unit: 0 - 1 is a large number.
 * expect: sc=violated tso=violated pso=violated */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

atomic_uint value;

static void *up(void *unused) {
  unsigned seen = atomic_load(&value);
  (void)unused;
  while (!atomic_compare_exchange_strong(&value, &seen, seen + 1))
    ;
  return NULL;
}

static void *down(void *unused) {
  unsigned seen = atomic_load(&value);
  (void)unused;
  if (seen != 0)
    atomic_fetch_sub(&value, 1);
  assert(atomic_load(&value) <= 1);
  return NULL;
}

int main(void) {
  pthread_t a, b, c;
  pthread_create(&a, NULL, up, NULL);
  pthread_create(&b, NULL, down, NULL);
  pthread_create(&c, NULL, down, NULL);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  pthread_join(c, NULL);
  return 0;
}
