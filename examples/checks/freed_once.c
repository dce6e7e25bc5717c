/* Two owners count down in one step: one of them is the last, and frees.
 * leak: sc holds, tso holds, pso holds, rc11 holds */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

atomic_int owners = 2;
int *shared;

void *owner(void *unused) {
    if (atomic_fetch_sub(&owners, 1) == 1)
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
