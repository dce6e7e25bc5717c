/* Palisade's own: cancellation of threads (POSIX.1-2017, 2.9.5), where a program calls
   pthread_cancel. A request is a flag of the thread, which it looks at where a call is a
   cancellation point. A thread that waits there is cancelled in a run of its own: it chooses
   to wait for the request in place of what it was to wait for. Runs in which no request comes
   go no further. Where deadlocks are looked for, a thread that chose otherwise says that it waits:
   a request that meets it there would end the wait, which is not followed. */
#ifndef __PALISADE_CANCEL_H
#define __PALISADE_CANCEL_H
#define __PALISADE_CANCEL_MAX 32
static int __palisade_cancel_asked[__PALISADE_CANCEL_MAX];
static _Thread_local int __palisade_cancel_off;
_Bool __VERIFIER_nondet_bool(void);
void __VERIFIER_assume(int);
int __palisade_asks_deadlock(void);
static int __palisade_cancel_waits[__PALISADE_CANCEL_MAX];

static int __palisade_cancel(pthread_t thread) {
    if (thread >= __PALISADE_CANCEL_MAX) __palisade_unsupported("cancellation with so many threads");
    __atomic_store_n(&__palisade_cancel_asked[thread], 1, __ATOMIC_SEQ_CST);
    if (__palisade_asks_deadlock())
        if (__atomic_load_n(&__palisade_cancel_waits[thread], __ATOMIC_SEQ_CST))
            __palisade_unsupported("whether a thread waits for ever that is cancelled meanwhile");
    return 0;
}
static int __palisade_cancel_is_asked(void) {
    return __atomic_load_n(&__palisade_cancel_asked[pthread_self()], __ATOMIC_SEQ_CST);
}
static void __palisade_cancel_test(void) {
    if (!__palisade_cancel_off)
        if (__palisade_cancel_is_asked()) pthread_exit(PTHREAD_CANCELED);
}
static int __palisade_cancel_state(int state, int *old) {
    if (old) *old = __palisade_cancel_off;
    __palisade_cancel_off = state;
    return 0;
}
static int __palisade_cancel_type(int type, int *old) {
    if (old) *old = PTHREAD_CANCEL_DEFERRED;
    if (type != PTHREAD_CANCEL_DEFERRED) __palisade_unsupported("asynchronous cancellation");
    return 0;
}
/* Before a wait: whether the request comes while it lasts. */
static int __palisade_cancel_comes(void) {
    __palisade_cancel_test();
    if (__palisade_cancel_off) return 0;
    return __VERIFIER_nondet_bool();
}
static void __palisade_cancel_now_waits(int is) {
    if (__palisade_asks_deadlock() && !__palisade_cancel_off) {
        __atomic_store_n(&__palisade_cancel_waits[pthread_self()], is, __ATOMIC_SEQ_CST);
        if (is) __palisade_cancel_test();
    }
}
static void __palisade_cancel_wait(void) {
    if (__palisade_cancel_comes()) {
        __VERIFIER_assume(__palisade_cancel_is_asked());
        pthread_exit(PTHREAD_CANCELED);
    }
}
static int __palisade_cancel_join(pthread_t thread, void **result) {
    __palisade_cancel_wait();
    __palisade_cancel_now_waits(1);
    int error = result ? pthread_join(thread, result) : pthread_join(thread, 0);
    __palisade_cancel_now_waits(0);
    return error;
}
/* The mutex is given back meanwhile, and held again when the handlers run. */
#define __PALISADE_CANCEL_CONDITION(mutex, lock, unlock)                                           \
    static void __palisade_cancel_blocked(mutex *m) {                                              \
        if (__palisade_cancel_comes()) {                                                           \
            unlock(m);                                                                             \
            __VERIFIER_assume(__palisade_cancel_is_asked());                                       \
            lock(m);                                                                               \
            pthread_exit(PTHREAD_CANCELED);                                                        \
        }                                                                                          \
    }
#endif
