/* A generator of pseudo-random numbers with compare-and-swap. */
#include <assert.h>
#include <limits.h>
#include <pthread.h>
extern int __VERIFIER_nondet_int(void);
extern void __VERIFIER_assume(int condition);

int seed = 1;
/* How many numbers were drawn. */
unsigned draws;

/* Some other positive number. */
static int next(int s) {
  int n = __VERIFIER_nondet_int();
  __VERIFIER_assume(n > 0 && n != s);
  return n;
}

static int __VERIFIER_atomic_draw(int before, int after, unsigned *mine) {
  if (seed != before)
    return 0;
  __VERIFIER_assume(draws != UINT_MAX);
  seed = after;
  draws = draws + 1;
  *mine = draws;
  return 1;
}

static void *worker(void *unused) {
  int before, after;
  unsigned mine;
  (void)unused;
  do {
    before = seed;
    after = next(before);
  } while (!__VERIFIER_atomic_draw(before, after, &mine));
  assert(after != before && draws >= mine);
  return NULL;
}

int main(void) {
  pthread_t t;
  while (1)
    pthread_create(&t, NULL, worker, NULL);
}
