// The queue of Michael and Scott.
// expect: linearizable
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

#define EMPTY (-1)

/*@ spec queue;
    method queue_put as enqueue;
    method queue_get as dequeue;
    init queue_create; */

typedef struct node {
  int value;
  _Atomic(struct node *) next;
} node_t;

typedef struct {
  _Atomic(node_t *) head, tail;
} queue_t;

queue_t *queue_create(void) {
  queue_t *q = malloc(sizeof(queue_t));
  node_t *dummy = calloc(1, sizeof(node_t));
  atomic_init(&q->head, dummy);
  atomic_init(&q->tail, dummy);
  return q;
}

static node_t *new_node(int value) {
  node_t *n = malloc(sizeof(node_t));
  n->value = value;
  atomic_init(&n->next, NULL);
  return n;
}

void queue_put(queue_t *q, int value) {
  node_t *n = new_node(value);
  for (;;) {
    node_t *tail = atomic_load(&q->tail);
    node_t *next = atomic_load(&tail->next);
    if (tail != atomic_load(&q->tail))
      continue;
    if (next != NULL) {
      atomic_compare_exchange_strong(&q->tail, &tail, next);
      continue;
    }
    if (atomic_compare_exchange_strong(&tail->next, &next, n)) {
      atomic_compare_exchange_strong(&q->tail, &tail, n);
      return;
    }
  }
}

int queue_get(queue_t *q) {
  for (;;) {
    node_t *head = atomic_load(&q->head);
    node_t *tail = atomic_load(&q->tail);
    node_t *next = atomic_load(&head->next);
    if (head != atomic_load(&q->head))
      continue;
    if (next == NULL)
      return EMPTY;
    if (head == tail) {
      atomic_compare_exchange_strong(&q->tail, &tail, next);
      continue;
    }
    int value = next->value;
    if (atomic_compare_exchange_strong(&q->head, &head, next))
      return value;
  }
}
