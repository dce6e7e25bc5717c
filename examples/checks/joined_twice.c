/* The second join is of a thread that is gone.
 * deadlock: sc violated, tso violated, rc11 violated */
#include <pthread.h>

void *worker(void *unused) { return 0; }

int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, worker, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[0], 0);
    return 0;
}
