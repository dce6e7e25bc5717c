/* Three philosophers, each of whom takes the left fork first: all may wait for the right one.
 * deadlock: sc violated, tso violated, pso violated, rc11 violated */
#include <pthread.h>

pthread_mutex_t fork[3] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};

void *philosopher(void *number) {
    int me = (int)(long)number;
    pthread_mutex_lock(&fork[me]);
    pthread_mutex_lock(&fork[(me + 1) % 3]);
    pthread_mutex_unlock(&fork[(me + 1) % 3]);
    pthread_mutex_unlock(&fork[me]);
    return 0;
}

int main(void) {
    pthread_t all[3];
    for (long i = 0; i < 3; i++) {
        pthread_create(&all[i], 0, philosopher, (void *)i);
    }
    for (int i = 0; i < 3; i++) {
        pthread_join(all[i], 0);
    }
    return 0;
}
