/* Palisade's own: recursive and error-checking mutexes, where a program uses them. Each is a
   plain mutex with the thread that holds it and how often. The owner is read without the mutex:
   whether it is the reader itself does not change meanwhile. */
#ifndef __PALISADE_MUTEX_KINDS_H
#define __PALISADE_MUTEX_KINDS_H
#define __PALISADE_RECURSIVE 1
#define __PALISADE_ERRORCHECK 2
#define __PALISADE_EPERM 1
#define __PALISADE_DEADLK 35

#define __PALISADE_MUTEX(type, name, init, lock, trylock, timedlock, unlock, destroy, busy)        \
    typedef struct { type plain; int kind; int count; unsigned long owner; } name##_t;             \
    static int name##_is_own(name##_t *m) {                                                        \
        return m->kind && __atomic_load_n(&m->owner, __ATOMIC_RELAXED) == __palisade_self() + 1;   \
    }                                                                                              \
    static void name##_own(name##_t *m) {                                                          \
        if (m->kind) {                                                                             \
            __atomic_store_n(&m->owner, __palisade_self() + 1, __ATOMIC_RELAXED);                  \
            m->count = 1;                                                                          \
        }                                                                                          \
    }                                                                                              \
    static int name##_again(name##_t *m, int refused) {                                            \
        if (m->kind != __PALISADE_RECURSIVE)                                                       \
            return refused;                                                                        \
        m->count++;                                                                                \
        return 0;                                                                                  \
    }                                                                                              \
    static int name##_make(name##_t *m, int kind) {                                                \
        m->kind = kind;                                                                            \
        m->count = 0;                                                                              \
        __atomic_store_n(&m->owner, 0, __ATOMIC_RELAXED);                                          \
        return init(&m->plain, 0);                                                                 \
    }                                                                                              \
    static int name##_lock(name##_t *m) {                                                          \
        if (name##_is_own(m))                                                                      \
            return name##_again(m, __PALISADE_DEADLK);                                             \
        int result = lock(&m->plain);                                                              \
        name##_own(m);                                                                             \
        return result;                                                                             \
    }                                                                                              \
    static int name##_trylock(name##_t *m) {                                                       \
        if (name##_is_own(m))                                                                      \
            return name##_again(m, busy);                                                          \
        int result = trylock(&m->plain);                                                           \
        if (result == 0)                                                                           \
            name##_own(m);                                                                         \
        return result;                                                                             \
    }                                                                                              \
    static int name##_timedlock(name##_t *m, const struct timespec *until) {                       \
        if (name##_is_own(m))                                                                      \
            return name##_again(m, __PALISADE_DEADLK);                                             \
        int result = timedlock(&m->plain, until);                                                  \
        if (result == 0)                                                                           \
            name##_own(m);                                                                         \
        return result;                                                                             \
    }                                                                                              \
    static int name##_unlock(name##_t *m) {                                                        \
        if (m->kind) {                                                                             \
            if (!name##_is_own(m))                                                                 \
                return __PALISADE_EPERM;                                                           \
            m->count--;                                                                            \
            if (m->count)                                                                          \
                return 0;                                                                          \
            __atomic_store_n(&m->owner, 0, __ATOMIC_RELAXED);                                      \
        }                                                                                          \
        return unlock(&m->plain);                                                                  \
    }                                                                                              \
    static void name##_destroy_plain(name##_t *m) { destroy(&m->plain); }

/* A wait gives the mutex back as a whole; held more than once it is not undone. */
#define __PALISADE_WAIT(name, condition, wait, timedwait)                                          \
    static void name##_leave(name##_t *m) {                                                        \
        if (m->kind) {                                                                             \
            if (m->count > 1)                                                                      \
                __palisade_unsupported("a wait with a mutex that is held more than once");         \
            __atomic_store_n(&m->owner, 0, __ATOMIC_RELAXED);                                      \
        }                                                                                          \
    }                                                                                              \
    static int name##_wait(condition *c, name##_t *m) {                                            \
        name##_leave(m);                                                                           \
        int result = wait(c, &m->plain);                                                           \
        name##_own(m);                                                                             \
        return result;                                                                             \
    }                                                                                              \
    static int name##_timedwait(condition *c, name##_t *m, const struct timespec *until) {         \
        name##_leave(m);                                                                           \
        int result = timedwait(c, &m->plain, until);                                               \
        name##_own(m);                                                                             \
        return result;                                                                             \
    }
#endif
