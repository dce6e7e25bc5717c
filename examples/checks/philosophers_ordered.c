/* Three philosophers who take the fork with the smaller number first.
 * deadlock progress: sc holds, tso holds, pso holds, rc11 holds */
#include <pthread.h>

pthread_mutex_t fork[3] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};

void *philosopher(void *number) {
    int me = (int)(long)number;
    int first = me == 2 ? 0 : me, second = me == 2 ? 2 : me + 1;
    pthread_mutex_lock(&fork[first]);
    pthread_mutex_lock(&fork[second]);
    pthread_mutex_unlock(&fork[second]);
    pthread_mutex_unlock(&fork[first]);
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
