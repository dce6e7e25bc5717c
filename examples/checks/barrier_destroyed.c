/* The barrier is destroyed while the other thread may still have to come to it.
 * deadlock: sc violated, tso violated, rc11 violated */
#include <pthread.h>

pthread_barrier_t both;

void *second(void *unused) {
    pthread_barrier_wait(&both);
    pthread_barrier_wait(&both);
    return 0;
}

int main(void) {
    pthread_t thread;
    pthread_barrier_init(&both, 0, 2);
    pthread_create(&thread, 0, second, 0);
    pthread_barrier_wait(&both);
    pthread_barrier_destroy(&both);
    pthread_join(thread, 0);
    return 0;
}
