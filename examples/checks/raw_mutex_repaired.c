/* The mutex on the heap is initialised before it is used, and destroyed before it is freed.
 * deadlock: sc holds, tso holds, pso holds, rc11 holds */
#include <pthread.h>
#include <stdlib.h>

struct account {
    pthread_mutex_t lock;
    int balance;
};

int main(void) {
    struct account *a = malloc(sizeof(struct account));
    pthread_mutex_init(&a->lock, 0);
    a->balance = 0;
    pthread_mutex_lock(&a->lock);
    a->balance++;
    pthread_mutex_unlock(&a->lock);
    pthread_mutex_destroy(&a->lock);
    free(a);
    return 0;
}
