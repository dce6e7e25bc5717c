/* Each owner expects the other to free.
 * leak: sc violated, tso violated, pso violated, rc11 violated */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

atomic_int owners = 2;
int *shared;

void *owner(void *unused) {
    if (atomic_fetch_sub(&owners, 1) == 3)
        free(shared);
    return 0;
}

int main(void) {
    pthread_t first, second;
    shared = malloc(sizeof(int));
    pthread_create(&first, 0, owner, 0);
    pthread_create(&second, 0, owner, 0);
    pthread_join(first, 0);
    pthread_join(second, 0);
    return 0;
}
