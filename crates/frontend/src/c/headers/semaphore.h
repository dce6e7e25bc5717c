#ifndef __PALISADE_SEMAPHORE
#define __PALISADE_SEMAPHORE
typedef struct { int value; } sem_t;
int sem_init(sem_t *, int, unsigned);
int sem_destroy(sem_t *);
int sem_wait(sem_t *);
int sem_trywait(sem_t *);
int sem_post(sem_t *);
#ifdef __PALISADE_CANCEL
#include <pthread.h>
static int __palisade_cancel_sem_wait(sem_t *s) {
    __palisade_cancel_wait();
    __palisade_cancel_now_waits(1);
    int error = sem_wait(s);
    __palisade_cancel_now_waits(0);
    return error;
}
#define sem_wait __palisade_cancel_sem_wait
#endif
#endif
