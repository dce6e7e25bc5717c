/* A stack behind a lock. */
#include <assert.h>
#include <pthread.h>
extern _Bool __VERIFIER_nondet_bool(void);

/* A stack of at most three cells. */
int cell[3], top;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void push(int value) {
  pthread_mutex_lock(&lock);
  if (top < 3) {
    cell[top] = value;
    top = top + 1;
  }
  assert(top <= 3);
  pthread_mutex_unlock(&lock);
}

static void pop(void) {
  pthread_mutex_lock(&lock);
  if (top > 0) {
    top = top - 1;
    assert(cell[top] == 1);
  }
  pthread_mutex_unlock(&lock);
}

static void *worker(void *unused) {
  (void)unused;
  if (__VERIFIER_nondet_bool())
    push(1);
  else
    pop();
  return NULL;
}

int main(void) {
  pthread_t t;
  while (1)
    pthread_create(&t, NULL, worker, NULL);
}
