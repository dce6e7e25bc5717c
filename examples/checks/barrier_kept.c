/* The barrier is destroyed when the other thread has ended.
 * deadlock: sc holds, tso holds, rc11 holds */
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
    pthread_barrier_wait(&both);
    pthread_join(thread, 0);
    pthread_barrier_destroy(&both);
    return 0;
}
