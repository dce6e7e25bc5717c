/* The lock is given back twice: undefined, and reported as a violation of its own.
 * verdicts: sc violated, tso violated, pso violated, rc11 violated */
#include <pthread.h>

pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
int count;

void *worker(void *unused) {
    pthread_mutex_lock(&m);
    count++;
    pthread_mutex_unlock(&m);
    return 0;
}

int main(void) {
    pthread_t other;
    pthread_create(&other, 0, worker, 0);
    worker(0);
    pthread_mutex_unlock(&m);
    pthread_join(other, 0);
    pthread_mutex_destroy(&m);
    return 0;
}
