/* Palisade's own: C11 threads, known to the front end by their names. */
#ifndef __PALISADE_THREADS
#define __PALISADE_THREADS
#include <stddef.h>
#include <time.h>
#define thread_local _Thread_local
typedef unsigned long thrd_t;
typedef int (*thrd_start_t)(void *);
typedef struct { int x; } mtx_t;
typedef struct { int x; } cnd_t;
typedef struct { int x; } once_flag;
#define ONCE_FLAG_INIT {0}
enum { mtx_plain = 0, mtx_timed = 2 };
enum { thrd_success = 0, thrd_busy = 1, thrd_error = 2, thrd_nomem = 3, thrd_timedout = 4 };
int thrd_create(thrd_t *, thrd_start_t, void *);
int thrd_join(thrd_t, int *);
int thrd_detach(thrd_t);
void thrd_exit(int);
void thrd_yield(void);
int thrd_sleep(const struct timespec *, struct timespec *);
thrd_t thrd_current(void);
int thrd_equal(thrd_t, thrd_t);
int mtx_init(mtx_t *, int);
void mtx_destroy(mtx_t *);
int mtx_lock(mtx_t *);
int mtx_trylock(mtx_t *);
int mtx_timedlock(mtx_t *, const struct timespec *);
int mtx_unlock(mtx_t *);
int cnd_init(cnd_t *);
void cnd_destroy(cnd_t *);
int cnd_wait(cnd_t *, mtx_t *);
int cnd_timedwait(cnd_t *, mtx_t *, const struct timespec *);
int cnd_signal(cnd_t *);
int cnd_broadcast(cnd_t *);
void call_once(once_flag *, void (*)(void));
typedef unsigned tss_t;
typedef void (*tss_dtor_t)(void *);
#include <__palisade_keys.h>
#define tss_create __palisade_key_create
#define tss_delete __palisade_key_delete
#define tss_get __palisade_key_get
#define tss_set __palisade_key_set
#ifdef __PALISADE_MUTEX_KINDS
#define __palisade_self thrd_current
#include <__palisade_mutex_kinds.h>
__PALISADE_MUTEX(mtx_t, __palisade_mtx, mtx_init, mtx_lock, mtx_trylock, mtx_timedlock, mtx_unlock,
                 mtx_destroy, thrd_busy)
__PALISADE_WAIT(__palisade_mtx, cnd_t, cnd_wait, cnd_timedwait)
static int __palisade_mtx_init(__palisade_mtx_t *m, int kind) {
    return __palisade_mtx_make(m, kind & __PALISADE_RECURSIVE);
}
#define mtx_recursive __PALISADE_RECURSIVE
#define mtx_t __palisade_mtx_t
#define mtx_init __palisade_mtx_init
#define mtx_destroy __palisade_mtx_destroy_plain
#define mtx_lock __palisade_mtx_lock
#define mtx_trylock __palisade_mtx_trylock
#define mtx_timedlock __palisade_mtx_timedlock
#define mtx_unlock __palisade_mtx_unlock
#define cnd_wait __palisade_mtx_wait
#define cnd_timedwait __palisade_mtx_timedwait
#else
/* Who uses it is preprocessed again with other mutexes. */
#define mtx_recursive __palisade_mutex_kinds
#endif
#endif
