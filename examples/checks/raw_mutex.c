/* The mutex on the heap was never initialised.
 * deadlock: sc violated, tso violated, pso violated, rc11 violated */
#include <pthread.h>
#include <stdlib.h>

struct account {
    pthread_mutex_t lock;
    int balance;
};

int main(void) {
    struct account *a = malloc(sizeof(struct account));
    a->balance = 0;
    pthread_mutex_lock(&a->lock);
    a->balance++;
    pthread_mutex_unlock(&a->lock);
    free(a);
    return 0;
}
