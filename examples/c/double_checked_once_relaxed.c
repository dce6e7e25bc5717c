/* The pointer is published without release: under PSO it may come before the value.
 * expect: sc=holds tso=holds pso=violated */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

struct config {
  int value;
};
struct config storage;
_Atomic(struct config *) config;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int made;

static struct config *get(void) {
  struct config *c = atomic_load_explicit(&config, memory_order_acquire);
  if (c == NULL) {
    pthread_mutex_lock(&lock);
    c = atomic_load_explicit(&config, memory_order_relaxed);
    if (c == NULL) {
      made++;
      storage.value = 42;
      c = &storage;
      atomic_store_explicit(&config, c, memory_order_relaxed);
    }
    pthread_mutex_unlock(&lock);
  }
  return c;
}

static void *user(void *unused) {
  (void)unused;
  assert(get()->value == 42);
  return NULL;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, NULL, user, NULL);
  pthread_create(&b, NULL, user, NULL);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  assert(made == 1);
  return 0;
}
