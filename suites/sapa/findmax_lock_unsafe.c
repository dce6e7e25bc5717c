/* Two threads: the comparison stands outside of the lock. */
#include <assert.h>
#include <pthread.h>
extern int __VERIFIER_nondet_int(void);

int max = -1;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void offer(int element) {
  if (element > max) {
    pthread_mutex_lock(&lock);
    max = element;
    pthread_mutex_unlock(&lock);
  }
}

static void *worker(void *unused) {
  (void)unused;
  for (int i = 0; i < 2; i++) {
    int element = __VERIFIER_nondet_int();
    offer(element);
    assert(element <= max);
  }
  return NULL;
}

int main(void) {
  pthread_t t;
  while (1)
    pthread_create(&t, NULL, worker, NULL);
}
