/* Two threads: both take the last cell. */
#include <assert.h>
#include <pthread.h>
extern _Bool __VERIFIER_nondet_bool(void);

/* How many cells a stack of at most three has. */
int top = 1;

static void push(void) {
  int seen;
  do {
    seen = top;
    if (seen == 3)
      return;
  } while (!__sync_bool_compare_and_swap(&top, seen, seen + 1));
}

static void pop(void) {
  int seen = top;
  if (seen > 0)
    __sync_fetch_and_sub(&top, 1);
}

static void *worker(void *unused) {
  int now;
  (void)unused;
  if (__VERIFIER_nondet_bool())
    push();
  else
    pop();
  now = top;
  assert(0 <= now && now <= 3);
  return NULL;
}

int main(void) {
  pthread_t t;
  while (1)
    pthread_create(&t, NULL, worker, NULL);
}
