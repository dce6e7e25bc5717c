/* The waiter does not look whether the signal was given before it waits: then nobody wakes it.
 * deadlock: sc violated, tso violated, pso violated, rc11 violated */
#include <pthread.h>

pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
int data;

void *consumer(void *unused) {
    pthread_mutex_lock(&m);
    pthread_cond_wait(&ready, &m);
    data = 0;
    pthread_mutex_unlock(&m);
    return 0;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, consumer, 0);
    pthread_mutex_lock(&m);
    data = 1;
    pthread_cond_signal(&ready);
    pthread_mutex_unlock(&m);
    pthread_join(thread, 0);
    return 0;
}
