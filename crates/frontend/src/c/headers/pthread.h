/* Palisade's own: the types are opaque, known to the front end by their names. */
#ifndef __PALISADE_PTHREAD
#define __PALISADE_PTHREAD
#include <stddef.h>
#include <time.h>
#include <sched.h>
typedef unsigned long pthread_t;
typedef struct { int x; } pthread_attr_t;
typedef struct { int x; } pthread_mutex_t;
typedef struct { int x; } pthread_mutexattr_t;
typedef struct { int x; } pthread_cond_t;
typedef struct { int x; } pthread_condattr_t;
typedef struct { int x; } pthread_rwlock_t;
typedef struct { int x; } pthread_rwlockattr_t;
typedef struct { int x; } pthread_barrier_t;
typedef struct { int x; } pthread_barrierattr_t;
typedef struct { int x; } pthread_spinlock_t;
typedef struct { int x; } pthread_once_t;
#define PTHREAD_MUTEX_INITIALIZER {0}
#define PTHREAD_COND_INITIALIZER {0}
#define PTHREAD_RWLOCK_INITIALIZER {0}
#define PTHREAD_ONCE_INIT {0}
#define PTHREAD_MUTEX_NORMAL 0
#define PTHREAD_MUTEX_DEFAULT 0
#define PTHREAD_CREATE_JOINABLE 0
#define PTHREAD_CREATE_DETACHED 1
#define PTHREAD_CANCELED ((void *)-1)
#define PTHREAD_CANCEL_ENABLE 0
#define PTHREAD_CANCEL_DISABLE 1
#define PTHREAD_CANCEL_DEFERRED 0
#define PTHREAD_CANCEL_ASYNCHRONOUS 1
#define PTHREAD_PROCESS_PRIVATE 0
#define PTHREAD_PROCESS_SHARED 1
#define PTHREAD_BARRIER_SERIAL_THREAD (-1)
int pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
int pthread_join(pthread_t, void **);
int pthread_detach(pthread_t);
int pthread_setaffinity_np(pthread_t, size_t, const cpu_set_t *);
void pthread_exit(void *);
pthread_t pthread_self(void);
int pthread_equal(pthread_t, pthread_t);
int pthread_attr_init(pthread_attr_t *);
int pthread_attr_destroy(pthread_attr_t *);
int pthread_attr_setdetachstate(pthread_attr_t *, int);
int pthread_mutex_init(pthread_mutex_t *, const pthread_mutexattr_t *);
int pthread_mutex_destroy(pthread_mutex_t *);
int pthread_mutex_lock(pthread_mutex_t *);
int pthread_mutex_trylock(pthread_mutex_t *);
int pthread_mutex_timedlock(pthread_mutex_t *, const struct timespec *);
int pthread_mutex_unlock(pthread_mutex_t *);
int pthread_mutexattr_init(pthread_mutexattr_t *);
int pthread_mutexattr_destroy(pthread_mutexattr_t *);
int pthread_mutexattr_settype(pthread_mutexattr_t *, int);
int pthread_cond_init(pthread_cond_t *, const pthread_condattr_t *);
int pthread_cond_destroy(pthread_cond_t *);
int pthread_cond_wait(pthread_cond_t *, pthread_mutex_t *);
int pthread_cond_timedwait(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
int pthread_cond_signal(pthread_cond_t *);
int pthread_cond_broadcast(pthread_cond_t *);
int pthread_rwlock_init(pthread_rwlock_t *, const pthread_rwlockattr_t *);
int pthread_rwlock_destroy(pthread_rwlock_t *);
int pthread_rwlock_rdlock(pthread_rwlock_t *);
int pthread_rwlock_tryrdlock(pthread_rwlock_t *);
int pthread_rwlock_wrlock(pthread_rwlock_t *);
int pthread_rwlock_trywrlock(pthread_rwlock_t *);
int pthread_rwlock_timedrdlock(pthread_rwlock_t *, const struct timespec *);
int pthread_rwlock_timedwrlock(pthread_rwlock_t *, const struct timespec *);
int pthread_rwlock_unlock(pthread_rwlock_t *);
int pthread_once(pthread_once_t *, void (*)(void));
int pthread_barrier_init(pthread_barrier_t *, const pthread_barrierattr_t *, unsigned);
int pthread_barrier_destroy(pthread_barrier_t *);
int pthread_barrier_wait(pthread_barrier_t *);
int pthread_spin_init(pthread_spinlock_t *, int);
int pthread_spin_destroy(pthread_spinlock_t *);
int pthread_spin_lock(pthread_spinlock_t *);
int pthread_spin_trylock(pthread_spinlock_t *);
int pthread_spin_unlock(pthread_spinlock_t *);
#define pthread_cleanup_push(handler, argument) { __palisade_cleanup_push((handler), (argument));
#define pthread_cleanup_pop(execute) __palisade_cleanup_pop(execute); }
typedef unsigned pthread_key_t;
#define PTHREAD_KEYS_MAX 4
#include <__palisade_keys.h>
#define pthread_key_create __palisade_key_create
#define pthread_key_delete __palisade_key_delete
#define pthread_getspecific __palisade_key_get
#define pthread_setspecific __palisade_key_set
#ifdef __PALISADE_MUTEX_KINDS
#define __palisade_self pthread_self
#include <__palisade_mutex_kinds.h>
__PALISADE_MUTEX(pthread_mutex_t, __palisade_mutex, pthread_mutex_init, pthread_mutex_lock,
                 pthread_mutex_trylock, pthread_mutex_timedlock, pthread_mutex_unlock,
                 pthread_mutex_destroy, 16)
__PALISADE_WAIT(__palisade_mutex, pthread_cond_t, pthread_cond_wait, pthread_cond_timedwait)
typedef struct { int kind; } __palisade_mutexattr_t;
static int __palisade_mutexattr_init(__palisade_mutexattr_t *a) { a->kind = 0; return 0; }
static int __palisade_mutexattr_settype(__palisade_mutexattr_t *a, int kind) { a->kind = kind; return 0; }
static int __palisade_mutexattr_gettype(const __palisade_mutexattr_t *a, int *kind) { *kind = a->kind; return 0; }
static int __palisade_mutexattr_ignored(__palisade_mutexattr_t *a, ...) { return 0; }
static int __palisade_mutex_init(__palisade_mutex_t *m, const __palisade_mutexattr_t *a) {
    return __palisade_mutex_make(m, a ? a->kind : 0);
}
static int __palisade_mutex_destroy(__palisade_mutex_t *m) { __palisade_mutex_destroy_plain(m); return 0; }
#undef PTHREAD_MUTEX_INITIALIZER
#define PTHREAD_MUTEX_INITIALIZER {{0}, 0, 0, 0}
#define PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP {{0}, __PALISADE_RECURSIVE, 0, 0}
#define PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP {{0}, __PALISADE_ERRORCHECK, 0, 0}
#define PTHREAD_MUTEX_RECURSIVE __PALISADE_RECURSIVE
#define PTHREAD_MUTEX_ERRORCHECK __PALISADE_ERRORCHECK
#define PTHREAD_MUTEX_RECURSIVE_NP __PALISADE_RECURSIVE
#define PTHREAD_MUTEX_ERRORCHECK_NP __PALISADE_ERRORCHECK
#define pthread_mutex_t __palisade_mutex_t
#define pthread_mutex_init __palisade_mutex_init
#define pthread_mutex_destroy __palisade_mutex_destroy
#define pthread_mutex_lock __palisade_mutex_lock
#define pthread_mutex_trylock __palisade_mutex_trylock
#define pthread_mutex_timedlock __palisade_mutex_timedlock
#define pthread_mutex_unlock __palisade_mutex_unlock
#define pthread_cond_wait __palisade_mutex_wait
#define pthread_cond_timedwait __palisade_mutex_timedwait
#define pthread_mutexattr_t __palisade_mutexattr_t
#define pthread_mutexattr_init __palisade_mutexattr_init
#define pthread_mutexattr_settype __palisade_mutexattr_settype
#define pthread_mutexattr_gettype __palisade_mutexattr_gettype
#define pthread_mutexattr_destroy __palisade_mutexattr_ignored
#define pthread_mutexattr_setpshared __palisade_mutexattr_ignored
#else
/* Who uses these is preprocessed again with other mutexes. */
#define pthread_mutexattr_gettype __palisade_mutex_kinds
#define PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP __palisade_mutex_kinds
#define PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP __palisade_mutex_kinds
#define PTHREAD_MUTEX_RECURSIVE __palisade_mutex_kinds
#define PTHREAD_MUTEX_ERRORCHECK __palisade_mutex_kinds
#define PTHREAD_MUTEX_RECURSIVE_NP __palisade_mutex_kinds
#define PTHREAD_MUTEX_ERRORCHECK_NP __palisade_mutex_kinds
#endif
#ifdef __PALISADE_CANCEL
#include <__palisade_cancel.h>
__PALISADE_CANCEL_CONDITION(pthread_mutex_t, pthread_mutex_lock, pthread_mutex_unlock)
static int __palisade_cancel_cond_wait(pthread_cond_t *c, pthread_mutex_t *m) {
    __palisade_cancel_blocked(m);
    __palisade_cancel_now_waits(1);
    int error = pthread_cond_wait(c, m);
    __palisade_cancel_now_waits(0);
    return error;
}
static int __palisade_cancel_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m,
                                            const struct timespec *until) {
    __palisade_cancel_blocked(m);
    return pthread_cond_timedwait(c, m, until);
}
#undef pthread_cond_wait
#undef pthread_cond_timedwait
#define pthread_cond_wait __palisade_cancel_cond_wait
#define pthread_cond_timedwait __palisade_cancel_cond_timedwait
#define pthread_join __palisade_cancel_join
#define pthread_cancel __palisade_cancel
#define pthread_testcancel __palisade_cancel_test
#define pthread_setcancelstate __palisade_cancel_state
#define pthread_setcanceltype __palisade_cancel_type
#else
/* Who uses these is preprocessed again with __palisade_cancel.h. */
#define pthread_cancel __palisade_cancels
#define pthread_testcancel __palisade_cancels
#define pthread_setcancelstate __palisade_cancels
#define pthread_setcanceltype __palisade_cancels
#endif
#endif
