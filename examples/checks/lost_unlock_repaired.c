/* Every way out of the critical section gives the lock back.
 * deadlock progress: sc holds, tso holds, pso holds, rc11 holds */
#include <pthread.h>

pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
int left_over = 1;

void *worker(void *unused) {
    pthread_mutex_lock(&m);
    if (left_over == 0) {
        pthread_mutex_unlock(&m);
        return 0;
    }
    left_over--;
    pthread_mutex_unlock(&m);
    return 0;
}

int main(void) {
    pthread_t workers[3];
    for (int i = 0; i < 3; i++) {
        pthread_create(&workers[i], 0, worker, 0);
    }
    for (int i = 0; i < 3; i++) {
        pthread_join(workers[i], 0);
    }
    return 0;
}
