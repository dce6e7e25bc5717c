/* The runtime of `palisade replay --native`: linked to the user's program in place of libtsan.
 * The compiler (-fsanitize=thread) calls a hook before every access to memory; library calls on
 * threads and locks arrive here by `--wrap`. One thread runs at a time. Before an access that the
 * trace has, a thread waits; the one whose access comes first in the trace goes on.
 *
 * The plan (file in PALISADE_PLAN) has one line for each of:
 *   thread FUNCTION                        the address of the function that it runs
 *   cell ADDRESS SIZE KIND LOW HIGH        ADDRESS 0: not known, found at the first match, between
 *                                          LOW and HIGH if these are not 0;
 *                                          KIND v: a variable, o: an object of the library
 *   item STEP THREAD WHAT LINE LAST CELL VALUE
 *                                          WHAT r, w: an access; c: a choice; n: starts thread VALUE;
 *                                          s: the thread is started
 *   line ADDRESS LINE                      from here on instructions are of this line
 *   fail MAIN THREAD FIRST LAST            number of the main thread; where the trace ends (0: anywhere)
 * What came of it is written to PALISADE_ANSWER: `failed THREAD LINE ACCESSES`, or
 * `left THREAD LINE WHY`. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>
#include <unistd.h>

enum { MOST_THREADS = 256 };
static const long NEVER = 1L << 60;
/* Accesses of one expression may come in another order than in the trace: so many are looked at. */
enum { WINDOW = 12 };

struct cell { uintptr_t at; unsigned long size; char kind; uintptr_t low, high; };
struct item { long step; int thread; char what; int line, last, cell; long value; int done; };
struct line { uintptr_t at; int line; };

static struct cell *cells;
static struct item *items;
static struct line *lines;
static long n_cells, n_items, n_lines, n_threads, matched;
static int main_thread, fail_thread, fail_first, fail_last;

static pthread_mutex_t token = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn = PTHREAD_COND_INITIALIZER;
static struct {
    long want;          /* the step of the trace that it waits for */
    long next;          /* its next item */
    int was, lives, waits;
    int awaits;         /* the thread that it joins, or -1 */
    pthread_t handle;
    uintptr_t function; /* what it runs */
} threads[MOST_THREADS];
static int runs;          /* the thread that runs */
static __thread int me;   /* the number of this thread in the trace */
static __thread int deaf; /* inside the runtime */

static void answer(const char *format, ...) {
    static int said;
    if (__atomic_exchange_n(&said, 1, __ATOMIC_SEQ_CST)) for (;;) pause();
    const char *file = getenv("PALISADE_ANSWER");
    FILE *out = file ? fopen(file, "w") : stderr;
    va_list args;
    va_start(args, format);
    if (out) { vfprintf(out, format, args); fclose(out); }
    va_end(args);
    fflush(stdout);
    _exit(0);
}

static void left(int line, const char *why) {
    answer("left %d %d %s\n", me, line, why);
}

static void *grown(void *all, long n, size_t size) {
    if (n & (n - 1)) return all;
    void *more = realloc(all, (n ? 2 * n : 1) * size);
    if (!more) abort();
    return more;
}

static int line_of(void *pc) {
    uintptr_t at = (uintptr_t)pc - 1;
    long lo = 0, hi = n_lines;
    while (hi - lo > 1) {
        long mid = (lo + hi) / 2;
        if (lines[mid].at <= at) lo = mid; else hi = mid;
    }
    return n_lines && lines[lo].at <= at ? lines[lo].line : 0;
}

__attribute__((constructor)) static void read_plan(void) {
    const char *name = getenv("PALISADE_PLAN");
    FILE *in = name ? fopen(name, "r") : 0;
    if (!in) { fprintf(stderr, "palisade: no plan\n"); _exit(2); }
    char kind[16];
    deaf = 1;
    while (fscanf(in, "%15s", kind) == 1) {
        int ok = 0;
        if (!strcmp(kind, "thread")) {
            if (n_threads == MOST_THREADS) break;
            threads[n_threads].awaits = -1;
            ok = fscanf(in, "%lx", &threads[n_threads++].function) == 1;
        } else if (!strcmp(kind, "cell")) {
            cells = grown(cells, n_cells, sizeof *cells);
            struct cell *c = &cells[n_cells++];
            ok = fscanf(in, "%lx %lu %c %lx %lx", &c->at, &c->size, &c->kind, &c->low, &c->high) == 5;
        } else if (!strcmp(kind, "item")) {
            items = grown(items, n_items, sizeof *items);
            struct item *i = &items[n_items++];
            i->done = 0;
            ok = fscanf(in, "%ld %d %c %d %d %d %ld", &i->step, &i->thread, &i->what, &i->line,
                        &i->last, &i->cell, &i->value) == 7;
        } else if (!strcmp(kind, "line")) {
            lines = grown(lines, n_lines, sizeof *lines);
            struct line *l = &lines[n_lines++];
            ok = fscanf(in, "%lx %d", &l->at, &l->line) == 2;
        } else if (!strcmp(kind, "fail")) {
            ok = fscanf(in, "%d %d %d %d", &main_thread, &fail_thread, &fail_first, &fail_last) == 4;
        }
        if (!ok) { fprintf(stderr, "palisade: bad plan\n"); _exit(2); }
    }
    fclose(in);
    me = runs = main_thread;
    threads[me].was = threads[me].lives = 1;
    deaf = 0;
    alarm(20);
}

/* The first item of this thread from `from` on that is not done, or n_items. */
static long own(long from) {
    while (from < n_items && (items[from].thread != me || items[from].done)) from++;
    return from;
}

/* Gives the turn to the thread whose item comes first. The mutex is held. */
static void hand_over(void) {
    int best = -1;
    for (int t = 0; t < n_threads; t++)
        if (threads[t].lives && threads[t].waits && (threads[t].awaits < 0 || !threads[threads[t].awaits].lives)
            && (best < 0 || threads[t].want < threads[best].want))
            best = t;
    if (best < 0 || threads[best].want == NEVER) { runs = -1; left(0, "no thread can go on as the trace does"); }
    runs = best;
    pthread_cond_broadcast(&turn);
}

static void wait_for(long step) {
    pthread_mutex_lock(&token);
    threads[me].want = step;
    threads[me].waits = 1;
    hand_over();
    while (runs != me) pthread_cond_wait(&turn, &token);
    threads[me].waits = 0;
    pthread_mutex_unlock(&token);
}

static int within(const struct item *i, int line) { return i->line <= line && line <= i->last; }

/* Whether an access is that of an item; an unknown cell is found here. */
static int is_access(struct item *i, char what, uintptr_t at, unsigned long size, int line) {
    if (i->what != what || i->cell < 0) return 0;
    struct cell *c = &cells[i->cell];
    if (c->at) return c->at < at + size && at < c->at + c->size;
    if (!within(i, line) || (c->low && (at + size <= c->low || c->high <= at))) return 0;
    for (long k = 0; k < n_cells; k++)
        if (cells[k].at && cells[k].at < at + size && at < cells[k].at + cells[k].size) return 0;
    return 1;
}

/* Whether some cell of the trace is touched. */
static int is_known(uintptr_t at, unsigned long size) {
    for (long k = 0; k < n_cells; k++)
        if (cells[k].at && cells[k].kind == 'v' && cells[k].at < at + size && at < cells[k].at + cells[k].size)
            return 1;
    return 0;
}

/* Whether an item must have its access: a variable whose place is known. */
static int is_due(const struct item *i) {
    return (i->what == 'r' || i->what == 'w') && i->cell >= 0 && cells[i->cell].kind == 'v' && (cells[i->cell].at || cells[i->cell].low);
}

static void compare(const struct item *i, const void *p, unsigned long size, int line) {
    const struct cell *c = &cells[i->cell];
    if (i->what != 'r' || c->at != (uintptr_t)p || size > 4) return;
    long value = 0;
    memcpy(&value, p, size);
    if ((value ^ i->value) & ((1L << 8 * size) - 1)) {
        static char why[96];
        snprintf(why, sizeof why, "memory has %ld, the trace reads %ld", value, i->value);
        left(line, why);
    }
}

static void touch(char what, const volatile void *p, unsigned long size, void *pc) {
    if (deaf || !size) return;
    deaf = 1;
    uintptr_t at = (uintptr_t)p;
    int line = line_of(pc);
    long first = own(threads[me].next), k = first, due = n_items;
    for (int skipped = 0; k < n_items; k = own(k + 1)) {
        if (is_access(&items[k], what, at, size, line) && (!skipped || within(&items[k], line))) break;
        if (!is_due(&items[k])) continue;
        if (due == n_items) due = k;
        if (++skipped > WINDOW) { k = n_items; break; }
    }
    if (k < n_items) {
        struct cell *c = &cells[items[k].cell];
        if (!c->at) { c->at = at; c->size = size; }
        wait_for(items[k].step);
        compare(&items[k], (const void *)p, size, line);
        matched++;
        items[k].done = 1;
        /* Further cells of one access, if nobody comes between. */
        long n = own(k + 1);
        while (n == k + 1 && n < n_items && items[n].cell != items[k].cell && is_access(&items[n], what, at, size, line)
               && cells[items[n].cell].at) { items[n].done = 1; k = n; n = own(k + 1); }
        threads[me].next = due < n_items ? due : k + 1;
    } else if (is_known(at, size)) {
        if (first == n_items) wait_for(NEVER);
        /* Compilers read once more what an assignment has written. */
        if (what == 'w') left(line, "a store that the trace does not have here");
    }
    deaf = 0;
}

/* A call on an object of the library: the next step of the trace on this line that touches it. */
static void call(const volatile void *object, void *pc) {
    if (deaf) return;
    deaf = 1;
    int line = line_of(pc);
    long k = own(threads[me].next);
    int rest = k < n_items;
    for (; k < n_items && !is_due(&items[k]); k = own(k + 1)) {
        struct item *i = &items[k];
        if (!within(i, line) || i->cell < 0 || cells[i->cell].kind != 'o') continue;
        struct cell *c = &cells[i->cell];
        if (!c->at) { c->at = (uintptr_t)object; c->size = 1; }
        if ((uintptr_t)object < c->at || (uintptr_t)object >= c->at + c->size) continue;
        wait_for(i->step);
        long step = i->step;
        for (; k < n_items && items[k].step == step; k = own(k + 1)) items[k].done = 1;
        threads[me].next = k;
        matched++;
        deaf = 0;
        return;
    }
    if (!rest) wait_for(NEVER);
    deaf = 0;
}

static long choice(void *pc, long otherwise) {
    int line = line_of(pc);
    for (long k = own(threads[me].next); k < n_items && !is_due(&items[k]); k = own(k + 1))
        if (items[k].what == 'c' && within(&items[k], line)) {
            items[k].done = 1;
            return items[k].value;
        }
    return otherwise;
}

#define HERE __builtin_return_address(0)

/* --- Hooks --- */

void __tsan_init(void) {}
void __tsan_func_entry(void *pc) { (void)pc; }
void __tsan_func_exit(void) {}
void __tsan_vptr_update(void **p, void *v) { (void)p; (void)v; }
void __tsan_vptr_read(void **p) { (void)p; }
#define ACCESSES(n) \
    void __tsan_read##n(void *p) { touch('r', p, n, HERE); } \
    void __tsan_write##n(void *p) { touch('w', p, n, HERE); } \
    void __tsan_unaligned_read##n(void *p) { touch('r', p, n, HERE); } \
    void __tsan_unaligned_write##n(void *p) { touch('w', p, n, HERE); } \
    void __tsan_volatile_read##n(void *p) { touch('r', p, n, HERE); } \
    void __tsan_volatile_write##n(void *p) { touch('w', p, n, HERE); }
ACCESSES(1) ACCESSES(2) ACCESSES(4) ACCESSES(8) ACCESSES(16)
void __tsan_read_range(void *p, unsigned long n) { touch('r', p, n, HERE); }
void __tsan_write_range(void *p, unsigned long n) { touch('w', p, n, HERE); }
void __tsan_atomic_thread_fence(int o) { (void)o; }
void __tsan_atomic_signal_fence(int o) { (void)o; }

/* A read and a write in one step of the trace. */
static void both(const volatile void *p, unsigned long n, void *pc) {
    touch('r', p, n, pc);
    touch('w', p, n, pc);
}
#define CHANGE(bits, type, name) \
    type __tsan_atomic##bits##_##name(volatile type *p, type v, int o) { \
        (void)o; both(p, sizeof *p, HERE); return __atomic_##name(p, v, __ATOMIC_SEQ_CST); }
#define ATOMICS(bits, type) \
    type __tsan_atomic##bits##_load(const volatile type *p, int o) { \
        (void)o; touch('r', p, sizeof *p, HERE); return __atomic_load_n(p, __ATOMIC_SEQ_CST); } \
    void __tsan_atomic##bits##_store(volatile type *p, type v, int o) { \
        (void)o; touch('w', p, sizeof *p, HERE); __atomic_store_n(p, v, __ATOMIC_SEQ_CST); } \
    type __tsan_atomic##bits##_exchange(volatile type *p, type v, int o) { \
        (void)o; both(p, sizeof *p, HERE); return __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST); } \
    static int swap##bits(volatile type *p, type *old, type v, void *pc) { \
        touch('r', p, sizeof *p, pc); \
        if (*p == *old) touch('w', p, sizeof *p, pc); else touch('w', old, sizeof *old, pc); \
        return __atomic_compare_exchange_n(p, old, v, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); } \
    int __tsan_atomic##bits##_compare_exchange_strong(volatile type *p, type *old, type v, int o, int f) { \
        (void)o; (void)f; return swap##bits(p, old, v, HERE); } \
    int __tsan_atomic##bits##_compare_exchange_weak(volatile type *p, type *old, type v, int o, int f) { \
        (void)o; (void)f; return swap##bits(p, old, v, HERE); } \
    type __tsan_atomic##bits##_compare_exchange_val(volatile type *p, type old, type v, int o, int f) { \
        (void)o; (void)f; touch('r', p, sizeof *p, HERE); \
        if (*p == old) touch('w', p, sizeof *p, HERE); \
        __atomic_compare_exchange_n(p, &old, v, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); return old; } \
    CHANGE(bits, type, fetch_add) CHANGE(bits, type, fetch_sub) CHANGE(bits, type, fetch_and) \
    CHANGE(bits, type, fetch_or) CHANGE(bits, type, fetch_xor) CHANGE(bits, type, fetch_nand)
ATOMICS(8, uint8_t) ATOMICS(16, uint16_t) ATOMICS(32, uint32_t) ATOMICS(64, uint64_t)

/* --- Memory that the library touches --- */

#define REAL(type, name, ...) type __real_##name(__VA_ARGS__)
REAL(void *, memcpy, void *, const void *, size_t);
REAL(void *, memmove, void *, const void *, size_t);
REAL(void *, memset, void *, int, size_t);
void *__wrap_memcpy(void *to, const void *from, size_t n) {
    touch('r', from, n, HERE); touch('w', to, n, HERE); return __real_memcpy(to, from, n); }
void *__wrap_memmove(void *to, const void *from, size_t n) {
    touch('r', from, n, HERE); touch('w', to, n, HERE); return __real_memmove(to, from, n); }
void *__wrap_memset(void *to, int c, size_t n) {
    touch('w', to, n, HERE); return __real_memset(to, c, n); }
/* Freed addresses are not allocated again, as in the trace. */
void __wrap_free(void *p) { (void)p; }

/* --- Threads --- */

REAL(int, pthread_create, pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
REAL(int, pthread_join, pthread_t, void **);
REAL(int, thrd_join, thrd_t, int *);
REAL(void, pthread_exit, void *);

struct start { void *(*run)(void *); int (*run11)(void *); void *argument; int thread; };

/* The thread of the trace that is started here: the one that the trace names, else the next one
 * that runs this function, else one that has no part in the trace. */
static int born(void *function, int line) {
    for (long k = own(threads[me].next); k < n_items; k = own(k + 1))
        if (items[k].what == 'n' && within(&items[k], line) && !threads[items[k].value].was)
            return (int)items[k].value;
    for (int t = 0; t < n_threads; t++)
        if (!threads[t].was && t != main_thread && threads[t].function == (uintptr_t)function) return t;
    if (n_threads == MOST_THREADS) left(line, "too many threads");
    return (int)n_threads++;
}

static void end_thread(void *unused) {
    (void)unused;
    deaf = 1;
    pthread_mutex_lock(&token);
    threads[me].lives = 0;
    hand_over();
    pthread_mutex_unlock(&token);
}

static void *started(void *p) {
    struct start start = *(struct start *)p;
    me = start.thread;
    deaf = 1;
    pthread_mutex_lock(&token);
    while (runs != me) pthread_cond_wait(&turn, &token);
    threads[me].waits = 0;
    pthread_mutex_unlock(&token);
    deaf = 0;
    void *result = 0;
    pthread_cleanup_push(end_thread, 0);
    result = start.run ? start.run(start.argument) : (void *)(long)start.run11(start.argument);
    pthread_cleanup_pop(1);
    return result;
}

static int create(pthread_t *handle, struct start how, void *pc) {
    deaf = 1;
    struct start *start = malloc(sizeof *start);
    void *function = how.run ? (void *)how.run : (void *)how.run11;
    int t = how.thread = born(function, line_of(pc));
    *start = how;
    pthread_mutex_lock(&token);
    threads[t].was = threads[t].lives = threads[t].waits = 1;
    threads[t].want = NEVER - 1;
    threads[t].awaits = -1;
    for (long i = n_items; i-- > 0;)
        if (items[i].thread == t) threads[t].want = items[i].step;
    int result = __real_pthread_create(handle, 0, started, start);
    threads[t].handle = *handle;
    pthread_mutex_unlock(&token);
    deaf = 0;
    return result;
}
int __wrap_pthread_create(pthread_t *handle, const pthread_attr_t *a, void *(*run)(void *), void *argument) {
    (void)a;
    pthread_t unused;
    return create(handle ? handle : &unused, (struct start){ .run = run, .argument = argument }, HERE);
}
int __wrap_thrd_create(thrd_t *handle, thrd_start_t run, void *argument) {
    return create((pthread_t *)handle, (struct start){ .run11 = run, .argument = argument }, HERE);
}
/* Waits for the end of a thread. */
static void join(pthread_t handle) {
    deaf = 1;
    int t = 0;
    while (t < n_threads && !(threads[t].was && pthread_equal(threads[t].handle, handle))) t++;
    if (t < n_threads) {
        threads[me].awaits = t;
        long k = own(threads[me].next);
        wait_for(k < n_items ? items[k].step : NEVER - 2);
        threads[me].awaits = -1;
    }
    deaf = 0;
}
int __wrap_pthread_join(pthread_t t, void **result) {
    join(t);
    if (result) touch('w', result, sizeof *result, HERE);
    return __real_pthread_join(t, result);
}
int __wrap_thrd_join(thrd_t t, int *result) {
    join((pthread_t)t);
    if (result) touch('w', result, sizeof *result, HERE);
    return __real_thrd_join(t, result);
}
void __wrap_pthread_exit(void *result) {
    if (me == main_thread) end_thread(0);
    __real_pthread_exit(result);
    abort();
}
int __wrap_pthread_detach(pthread_t t) { (void)t; return 0; }
int __wrap_thrd_detach(thrd_t t) { (void)t; return thrd_success; }

/* --- Locks --- */

#define LOCK(name, type) \
    REAL(int, name, type *); \
    int __wrap_##name(type *o) { call(o, HERE); return __real_##name(o); }
LOCK(pthread_mutex_lock, pthread_mutex_t) LOCK(pthread_mutex_trylock, pthread_mutex_t)
LOCK(pthread_mutex_unlock, pthread_mutex_t)
LOCK(pthread_spin_lock, pthread_spinlock_t) LOCK(pthread_spin_trylock, pthread_spinlock_t)
LOCK(pthread_spin_unlock, pthread_spinlock_t)
LOCK(pthread_rwlock_rdlock, pthread_rwlock_t) LOCK(pthread_rwlock_tryrdlock, pthread_rwlock_t)
LOCK(pthread_rwlock_wrlock, pthread_rwlock_t) LOCK(pthread_rwlock_trywrlock, pthread_rwlock_t)
LOCK(pthread_rwlock_unlock, pthread_rwlock_t)
LOCK(mtx_lock, mtx_t) LOCK(mtx_trylock, mtx_t) LOCK(mtx_unlock, mtx_t)
LOCK(sem_wait, sem_t) LOCK(sem_trywait, sem_t) LOCK(sem_post, sem_t)

/* A wait unlocks and locks: it may end without a signal, and signals do nothing. */
int __wrap_pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m) {
    (void)c;
    call(m, HERE); __real_pthread_mutex_unlock(m);
    call(m, HERE); return __real_pthread_mutex_lock(m);
}
int __wrap_cnd_wait(cnd_t *c, mtx_t *m) {
    (void)c;
    call(m, HERE); __real_mtx_unlock(m);
    call(m, HERE); return __real_mtx_lock(m);
}
int __wrap_pthread_cond_signal(pthread_cond_t *c) { (void)c; return 0; }
int __wrap_pthread_cond_broadcast(pthread_cond_t *c) { (void)c; return 0; }
int __wrap_cnd_signal(cnd_t *c) { (void)c; return thrd_success; }
int __wrap_cnd_broadcast(cnd_t *c) { (void)c; return thrd_success; }

/* --- Words of verification tasks --- */

#define NONDET(name, type) __attribute__((weak)) type __VERIFIER_nondet_##name(void) { return (type)choice(HERE, 0); }
NONDET(bool, _Bool) NONDET(char, char) NONDET(schar, signed char) NONDET(uchar, unsigned char)
NONDET(short, short) NONDET(ushort, unsigned short) NONDET(int, int) NONDET(uint, unsigned)
NONDET(unsigned, unsigned) NONDET(long, long) NONDET(ulong, unsigned long)
NONDET(longlong, long long) NONDET(ulonglong, unsigned long long) NONDET(size_t, size_t)
__attribute__((weak)) void __VERIFIER_atomic_begin(void) {}
__attribute__((weak)) void __VERIFIER_atomic_end(void) {}
__attribute__((weak)) void __VERIFIER_assume(int cond) {
    if (!cond) left(line_of(HERE), "an assumption is false");
}

static void failed(int line) {
    if (me != fail_thread) left(line, "an assertion of another thread fails");
    if (fail_last && (line < fail_first || fail_last < line)) left(line, "another assertion fails");
    answer("failed %d %d %ld\n", me, line, matched);
}
void __assert_fail(const char *text, const char *file, unsigned line, const char *function) {
    deaf = 1;
    fflush(stdout);
    fprintf(stderr, "%s:%u: %s: Assertion `%s' failed.\n", file, line, function, text);
    failed((int)line);
    abort();
}
#define ERROR(name) __attribute__((weak)) void name(void) { \
    deaf = 1; fprintf(stderr, #name " is called\n"); failed(line_of(HERE)); abort(); }
ERROR(reach_error) ERROR(__VERIFIER_error)
__attribute__((weak)) void __VERIFIER_assert(int cond) {
    if (!cond) { deaf = 1; fprintf(stderr, "__VERIFIER_assert fails\n"); failed(line_of(HERE)); }
}

__attribute__((destructor)) static void ended(void) {
    deaf = 1;
    left(0, "the program has ended without a failure");
}
