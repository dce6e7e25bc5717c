/* The waiter looks first, and again after each wake-up: no signal is lost.
 * deadlock progress: sc holds, tso holds, pso holds, rc11 holds */
#include <pthread.h>

pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
int data;

void *consumer(void *unused) {
    pthread_mutex_lock(&m);
    while (!data)
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
