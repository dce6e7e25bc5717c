/* The message is freed by the thread that sent it, perhaps before the other has read it.
 * verdicts: sc violated, tso violated, pso violated, rc11 violated */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

_Atomic(int *) message;

void *receiver(void *unused) {
    int *received = atomic_load(&message);
    return received ? (void *)(long)*received : 0;
}

int main(void) {
    pthread_t thread;
    int *sent = malloc(sizeof(int));
    *sent = 42;
    pthread_create(&thread, 0, receiver, 0);
    atomic_store(&message, sent);
    free(sent);
    pthread_join(thread, 0);
    return 0;
}
