/* Who takes the last reference frees the object: the count is given back with release only.
 * expect: rc11=violated */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct object {
  atomic_int count;
  int data;
};

static void *run(void *arg) {
  struct object *o = arg;
  assert(o->data == 5);
  if (atomic_fetch_sub_explicit(&o->count, 1, memory_order_release) == 1) {
    o->data = 0;
    free(o);
  }
  return 0;
}

int main(void) {
  struct object *o = malloc(sizeof *o);
  o->data = 5;
  atomic_init(&o->count, 2);
  pthread_t x, y;
  pthread_create(&x, 0, run, o);
  pthread_create(&y, 0, run, o);
  pthread_join(x, 0);
  pthread_join(y, 0);
}
