/* A stack in a heap of cells that are addressed by numbers: cell 0 is null, an object has two cells,
   its value and the number of the object below it. Threads push for ever. */
#include <assert.h>
#include <pthread.h>
extern int __VERIFIER_nondet_int(void);

#define CELLS (2 * 32 + 1)
int heap[CELLS];
int next_free = 1;
int top;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t start = PTHREAD_MUTEX_INITIALIZER;
int is_ready;

static int allocate(void) {
  int object = 0;
  pthread_mutex_lock(&lock);
  if (next_free + 1 <= CELLS) {
    object = next_free;
    next_free += 2;
  }
  pthread_mutex_unlock(&lock);
  return object;
}

static int push(int value) {
  int object = allocate();
  if (object == 0)
    return 0;
  heap[object] = value;
  pthread_mutex_lock(&lock);
  heap[object + 1] = top;
  top = object;
  pthread_mutex_unlock(&lock);
  return 1;
}

static void *worker(void *unused) {
  (void)unused;
  pthread_mutex_lock(&start);
  if (!is_ready) {
    top = 0;
    is_ready = 1;
  }
  pthread_mutex_unlock(&start);
  while (1)
    if (push(__VERIFIER_nondet_int()))
      assert(top != 0);
}

int main(void) {
  pthread_t t;
  while (1)
    pthread_create(&t, NULL, worker, NULL);
}
