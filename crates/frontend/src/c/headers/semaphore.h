#ifndef __PALISADE_SEMAPHORE
#define __PALISADE_SEMAPHORE
typedef struct { int value; } sem_t;
int sem_init(sem_t *, int, unsigned);
int sem_destroy(sem_t *);
int sem_wait(sem_t *);
int sem_trywait(sem_t *);
int sem_post(sem_t *);
#endif
