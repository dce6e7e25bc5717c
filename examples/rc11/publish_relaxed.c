/* An object is published by a pointer, and read for ever: the pointer is stored relaxed.
 * expect: rc11=violated */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

struct object {
  int a, b;
} objects[2];
_Atomic(struct object *) current = &objects[0];

static void *writer(void *unused) {
  (void)unused;
  objects[1].a = 7;
  objects[1].b = 7;
  atomic_store_explicit(&current, &objects[1], memory_order_relaxed);
  return 0;
}

static void *reader(void *unused) {
  (void)unused;
  while (1) {
    struct object *o = atomic_load_explicit(&current, memory_order_acquire);
    assert(o->a == o->b);
  }
}

int main(void) {
  pthread_t x, y;
  pthread_create(&x, 0, writer, 0);
  pthread_create(&y, 0, reader, 0);
  pthread_join(x, 0);
  pthread_join(y, 0);
}
