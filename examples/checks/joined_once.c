/* Each thread is joined once.
 * deadlock: sc holds, tso holds, rc11 holds */
#include <pthread.h>

void *worker(void *unused) { return 0; }

int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, worker, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    return 0;
}
