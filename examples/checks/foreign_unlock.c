/* A thread unlocks the mutex that another one has locked.
 * deadlock: sc violated, tso violated, pso violated, rc11 violated */
#include <pthread.h>

pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

void *impatient(void *unused) {
    if (pthread_mutex_trylock(&m) != 0)
        pthread_mutex_unlock(&m);
    else
        pthread_mutex_unlock(&m);
    return 0;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, impatient, 0);
    pthread_mutex_lock(&m);
    pthread_mutex_unlock(&m);
    pthread_join(thread, 0);
    return 0;
}
