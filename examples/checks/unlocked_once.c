/* The lock is given back once, and destroyed when nobody uses it.
 * verdicts: sc holds, tso holds, pso holds, rc11 holds */
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
    pthread_join(other, 0);
    pthread_mutex_destroy(&m);
    return 0;
}
