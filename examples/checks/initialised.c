/* The reader asks first what kind of message it is: this kind has no second word that it would read.
 * uninitialised: sc holds, tso holds, pso holds, rc11 holds */
#include <pthread.h>
#include <stdatomic.h>

struct message { int kind, length; };

struct message box;
atomic_int full;
int total;

void *sender(void *unused) {
    struct message m;
    m.kind = 1;
    box = m;
    atomic_store(&full, 1);
    return 0;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, sender, 0);
    if (atomic_load(&full) && box.kind == 2)
        total += box.length;
    pthread_join(t, 0);
    return 0;
}
