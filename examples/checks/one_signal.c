/* Two threads wait, one signal is given: one of them waits for ever.
 * deadlock: sc violated, tso violated, pso violated, rc11 violated */
#include <pthread.h>

pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t opened = PTHREAD_COND_INITIALIZER;
int open;

void *guest(void *unused) {
    pthread_mutex_lock(&m);
    while (!open)
        pthread_cond_wait(&opened, &m);
    pthread_mutex_unlock(&m);
    return 0;
}

int main(void) {
    pthread_t first, second;
    pthread_create(&first, 0, guest, 0);
    pthread_create(&second, 0, guest, 0);
    pthread_mutex_lock(&m);
    open = 1;
    pthread_cond_signal(&opened);
    pthread_mutex_unlock(&m);
    pthread_join(first, 0);
    pthread_join(second, 0);
    return 0;
}
