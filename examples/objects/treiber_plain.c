// Treiber's stack whose pop takes a node without looking whether it is still the top.
// expect: not linearizable
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

//@ spec stack;

struct node {
  int value;
  struct node *next;
};

static _Atomic(struct node *) top;

void push(int value) {
  struct node *n = malloc(sizeof *n);
  n->value = value;
  struct node *old;
  do {
    old = atomic_load(&top);
    n->next = old;
  } while (!atomic_compare_exchange_strong(&top, &old, n));
}

int pop(void) {
  struct node *old = atomic_load(&top);
  if (!old)
    return -1;
  atomic_store(&top, old->next);
  return old->value;
}
