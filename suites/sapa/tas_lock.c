/* A test-and-set lock. */
#include <assert.h>
#include <pthread.h>

int taken, inside;

static void *worker(void *unused) {
  (void)unused;
  while (__sync_lock_test_and_set(&taken, 1))
    ;
  inside++;
  assert(inside == 1);
  inside--;
  __sync_lock_release(&taken);
  return NULL;
}

int main(void) {
  pthread_t t;
  while (1)
    pthread_create(&t, NULL, worker, NULL);
}
