/* A node is marked in the lowest bit of its pointer before it is removed ([Harris, DISC 2001]).
 * expect: sc=holds tso=holds pso=holds */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct node {
    int key;
    _Atomic(uintptr_t) next; // the address of the next node, and the mark
};

static struct node first, middle, last, added;
static int removed;

static uintptr_t link_to(struct node *n) { return (uintptr_t)n; }
static struct node *target(uintptr_t link) { return (struct node *)(link & ~(uintptr_t)1); }
static int is_marked(uintptr_t link) { return (int)(link & 1); }

static void *remover(void *arg) {
    (void)arg;
    uintptr_t next = atomic_load(&middle.next);
    while (!atomic_compare_exchange_strong(&middle.next, &next, next | 1)) {
    }
    uintptr_t self = link_to(&middle);
    removed = atomic_compare_exchange_strong(&first.next, &self, next);
    return NULL;
}

static void *adder(void *arg) {
    (void)arg;
    uintptr_t next = atomic_load(&middle.next);
    added.key = 2;
    atomic_store(&added.next, next & ~(uintptr_t)1);
    // Fails if the node has been marked.
    int done = !is_marked(next) && atomic_compare_exchange_strong(&middle.next, &next, link_to(&added));
    return (void *)(uintptr_t)done;
}

int main(void) {
    pthread_t r, a;
    void *done;
    first.key = 0;
    middle.key = 1;
    last.key = 3;
    atomic_store(&middle.next, link_to(&last));
    atomic_store(&first.next, link_to(&middle));
    pthread_create(&r, NULL, remover, NULL);
    pthread_create(&a, NULL, adder, NULL);
    pthread_join(r, NULL);
    pthread_join(a, &done);
    struct node *second = target(atomic_load(&first.next));
    assert(removed && second != &middle);
    // What was added is still there.
    assert(!done || second == &added);
    assert(second->key == (done ? 2 : 3));
}
