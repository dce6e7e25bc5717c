/* One thread hands over to the other by a flag, whichever way it takes.
 * progress deadlock: sc holds, tso holds, pso holds, rc11 holds */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

extern int __VERIFIER_nondet_int(void);
int data;
atomic_int flag;

void *producer(void *unused) {
    if (__VERIFIER_nondet_int()) {
        data = 1;
        atomic_store_explicit(&flag, 1, memory_order_release);
    } else {
        data = 2;
        atomic_store_explicit(&flag, 1, memory_order_release);
    }
    return 0;
}

int main(void) {
    pthread_t other;
    pthread_create(&other, 0, producer, 0);
    while (atomic_load_explicit(&flag, memory_order_acquire) == 0) {
    }
    assert(data > 0);
    pthread_join(other, 0);
    return 0;
}
