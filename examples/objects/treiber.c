// Treiber's stack, as it stands in many C libraries.
// expect: linearizable
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

//@ spec stack;

struct node {
  int value;
  struct node *next;
};

struct stack {
  _Atomic(struct node *) top;
};

void stack_init(struct stack *s) { atomic_init(&s->top, NULL); }

bool stack_push(struct stack *s, int value) {
  struct node *n = malloc(sizeof *n);
  if (n == NULL)
    return false;
  n->value = value;
  struct node *old = atomic_load(&s->top);
  do {
    n->next = old;
  } while (!atomic_compare_exchange_weak(&s->top, &old, n));
  return true;
}

bool stack_pop(struct stack *s, int *value) {
  struct node *old = atomic_load(&s->top);
  do {
    if (old == NULL)
      return false;
  } while (!atomic_compare_exchange_weak(&s->top, &old, old->next));
  *value = old->value;
  return true;
}
