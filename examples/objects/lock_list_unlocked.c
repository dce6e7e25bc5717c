// A set: a sorted list under one lock, which remove gives back before it has unlinked the node.
// expect: not linearizable
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

//@ spec set;

struct node {
  int key;
  struct node *next;
};

struct list {
  struct node *head;
  pthread_mutex_t lock;
};

static struct node *make(int key, struct node *next) {
  struct node *n = malloc(sizeof *n);
  n->key = key;
  n->next = next;
  return n;
}

void list_init(struct list *l) {
  l->head = make(INT_MIN, make(INT_MAX, NULL));
  pthread_mutex_init(&l->lock, NULL);
}

// The first node whose key is at least `key`, and the one before it.
static void find(struct list *l, int key, struct node **before, struct node **at) {
  struct node *p = l->head;
  struct node *n = p->next;
  while (n->key < key) {
    p = n;
    n = n->next;
  }
  *before = p;
  *at = n;
}

bool list_add(struct list *l, int key) {
  struct node *p, *n;
  pthread_mutex_lock(&l->lock);
  find(l, key, &p, &n);
  bool is_new = n->key != key;
  if (is_new)
    p->next = make(key, n);
  pthread_mutex_unlock(&l->lock);
  return is_new;
}

bool list_remove(struct list *l, int key) {
  struct node *p, *n;
  pthread_mutex_lock(&l->lock);
  find(l, key, &p, &n);
  bool is_there = n->key == key;
  pthread_mutex_unlock(&l->lock);
  if (is_there)
    p->next = n->next;
  return is_there;
}

bool list_contains(struct list *l, int key) {
  struct node *p, *n;
  pthread_mutex_lock(&l->lock);
  find(l, key, &p, &n);
  bool is_there = n->key == key;
  pthread_mutex_unlock(&l->lock);
  return is_there;
}
