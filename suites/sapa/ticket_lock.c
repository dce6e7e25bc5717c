/* A ticket lock. */
#include <assert.h>
#include <limits.h>
#include <pthread.h>
extern void __VERIFIER_assume(int condition);

unsigned next_ticket, now_serving;
int inside;

/* There are tickets for fewer threads than numbers: they never come round. */
static void __VERIFIER_atomic_draw(unsigned *mine) {
  __VERIFIER_assume(next_ticket != UINT_MAX);
  *mine = next_ticket;
  next_ticket = next_ticket + 1;
}

static void *worker(void *unused) {
  unsigned mine;
  (void)unused;
  __VERIFIER_atomic_draw(&mine);
  while (now_serving != mine)
    ;
  inside++;
  assert(inside == 1);
  inside--;
  now_serving++;
  return NULL;
}

int main(void) {
  pthread_t t;
  while (1)
    pthread_create(&t, NULL, worker, NULL);
}
