/* Two threads: the number is checked after the lock is gone. */
#include <assert.h>
#include <pthread.h>
extern int __VERIFIER_nondet_int(void);
extern void __VERIFIER_assume(int condition);

int seed = 1;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Some other positive number. */
static int next(int s) {
  int n = __VERIFIER_nondet_int();
  __VERIFIER_assume(n > 0 && n != s);
  return n;
}

static void *worker(void *unused) {
  int before, after;
  (void)unused;
  pthread_mutex_lock(&lock);
  before = seed;
  after = next(before);
  seed = after;
  pthread_mutex_unlock(&lock);
  assert(seed == after && after != before);
  return NULL;
}

int main(void) {
  pthread_t t;
  while (1)
    pthread_create(&t, NULL, worker, NULL);
}
