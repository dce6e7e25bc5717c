/* The message is freed when the receiver has ended.
 * leak: sc holds, tso holds, pso holds, rc11 holds */
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
    pthread_join(thread, 0);
    free(sent);
    return 0;
}
