/* Double-checked initialisation, asked for for ever: the first look is relaxed.
 * expect: rc11=violated */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
atomic_bool done;
int object;

static int get(void) {
  if (!atomic_load_explicit(&done, memory_order_relaxed)) {
    pthread_mutex_lock(&mutex);
    if (!atomic_load_explicit(&done, memory_order_relaxed)) {
      object++;
      atomic_store_explicit(&done, 1, memory_order_release);
    }
    pthread_mutex_unlock(&mutex);
  }
  return object;
}

static void *run(void *unused) {
  (void)unused;
  while (1)
    assert(get() == 1);
}

int main(void) {
  pthread_t x, y;
  pthread_create(&x, 0, run, 0);
  pthread_create(&y, 0, run, 0);
  pthread_join(x, 0);
  pthread_join(y, 0);
}
