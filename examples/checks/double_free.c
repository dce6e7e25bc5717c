/* Two owners count down without an atomic operation: both may believe to be the last.
 * verdicts: sc violated, tso violated, pso violated, rc11 violated */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

atomic_int owners = 2;
int *shared;

void *owner(void *unused) {
    int left = atomic_load(&owners) - 1;
    atomic_store(&owners, left);
    if (left <= 0 || atomic_load(&owners) == 0)
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
