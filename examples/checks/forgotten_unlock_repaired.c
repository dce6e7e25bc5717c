/* A spin lock that every way out of the critical section gives back.
 * progress deadlock: sc holds, tso holds, pso holds, rc11 holds */
#include <pthread.h>
#include <stdatomic.h>

atomic_int lock;
int left_over = 1;

void *worker(void *unused) {
    while (atomic_exchange(&lock, 1)) { }
    if (left_over > 0)
        left_over--;
    atomic_store(&lock, 0);
    return 0;
}

int main(void) {
    pthread_t workers[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&workers[i], 0, worker, 0);
    for (int i = 0; i < 3; i++)
        pthread_join(workers[i], 0);
    return 0;
}
