/* Allocated memory is published by a release store.
 * verdicts: sc holds, tso holds, rc11 holds */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

_Atomic(atomic_int *) cell;

void *owner(void *unused) {
    atomic_int *fresh = malloc(sizeof(atomic_int));
    atomic_store_explicit(&cell, fresh, memory_order_release);
    return 0;
}

void *user(void *unused) {
    atomic_int *found = atomic_load_explicit(&cell, memory_order_acquire);
    if (found)
        atomic_store_explicit(found, 1, memory_order_relaxed);
    return 0;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, owner, 0);
    pthread_create(&b, 0, user, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
