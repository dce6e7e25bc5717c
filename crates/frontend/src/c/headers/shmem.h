/* What Palisade reads of OpenSHMEM 1.5. The functions are built in; handles are numbers. */
#ifndef PALISADE_SHMEM_H
#define PALISADE_SHMEM_H
#include <stddef.h>
#include <stdint.h>

typedef int shmem_ctx_t;
typedef int shmem_team_t;
typedef struct {
  int num_contexts;
} shmem_team_config_t;

enum { SHMEM_CTX_DEFAULT = 0, SHMEM_CTX_INVALID = -1 };
enum { SHMEM_CTX_SERIALIZED = 1, SHMEM_CTX_PRIVATE = 2, SHMEM_CTX_NOSTORE = 4 };
enum { SHMEM_TEAM_INVALID = -1, SHMEM_TEAM_WORLD = 0, SHMEM_TEAM_SHARED = 1 };
enum {
  SHMEM_CMP_EQ = 1, SHMEM_CMP_NE, SHMEM_CMP_GT, SHMEM_CMP_GE, SHMEM_CMP_LT, SHMEM_CMP_LE
};
enum { SHMEM_SIGNAL_SET = 1, SHMEM_SIGNAL_ADD = 3 };
enum {
  SHMEM_THREAD_SINGLE = 0, SHMEM_THREAD_FUNNELED, SHMEM_THREAD_SERIALIZED, SHMEM_THREAD_MULTIPLE
};

void shmem_init(void);
int shmem_init_thread(int wanted, int *provided);
void shmem_finalize(void);
void shmem_global_exit(int status);
int shmem_my_pe(void);
int shmem_n_pes(void);
void *shmem_malloc(size_t size);
void *shmem_calloc(size_t count, size_t size);
void *shmem_align(size_t alignment, size_t size);
void shmem_free(void *pointer);

void shmem_quiet(void);
void shmem_fence(void);
void shmem_barrier_all(void);
void shmem_sync_all(void);
int shmem_sync(shmem_team_t team);
int shmem_team_sync(shmem_team_t team);
void shmem_set_lock(long *lock);
void shmem_clear_lock(long *lock);
uint64_t shmem_signal_fetch(const uint64_t *signal);
uint64_t shmem_signal_wait_until(uint64_t *signal, int how, uint64_t value);

int shmem_ctx_create(long options, shmem_ctx_t *ctx);
void shmem_ctx_destroy(shmem_ctx_t ctx);
void shmem_ctx_quiet(shmem_ctx_t ctx);
void shmem_ctx_fence(shmem_ctx_t ctx);
int shmem_team_create_ctx(shmem_team_t team, long options, shmem_ctx_t *ctx);
int shmem_team_split_strided(shmem_team_t parent, int start, int stride, int size,
                             const shmem_team_config_t *config, long mask, shmem_team_t *team);
void shmem_team_destroy(shmem_team_t team);
int shmem_team_my_pe(shmem_team_t team);
int shmem_team_n_pes(shmem_team_t team);
int shmem_team_translate_pe(shmem_team_t from, int pe, shmem_team_t to);

#define PALISADE_RMA(NAME, TYPE, PREFIX, CTX)                                                      \
  void PREFIX##NAME##_put(CTX TYPE *to, const TYPE *from, size_t count, int pe);                   \
  void PREFIX##NAME##_put_nbi(CTX TYPE *to, const TYPE *from, size_t count, int pe);               \
  void PREFIX##NAME##_get(CTX TYPE *to, const TYPE *from, size_t count, int pe);                   \
  void PREFIX##NAME##_get_nbi(CTX TYPE *to, const TYPE *from, size_t count, int pe);               \
  void PREFIX##NAME##_p(CTX TYPE *to, TYPE value, int pe);                                         \
  TYPE PREFIX##NAME##_g(CTX const TYPE *from, int pe);                                             \
  void PREFIX##NAME##_iput(CTX TYPE *to, const TYPE *from, ptrdiff_t to_stride,                    \
                           ptrdiff_t from_stride, size_t count, int pe);                           \
  void PREFIX##NAME##_iget(CTX TYPE *to, const TYPE *from, ptrdiff_t to_stride,                    \
                           ptrdiff_t from_stride, size_t count, int pe);                           \
  void PREFIX##NAME##_put_signal(CTX TYPE *to, const TYPE *from, size_t count, uint64_t *signal,   \
                                 uint64_t value, int how, int pe);                                 \
  void PREFIX##NAME##_put_signal_nbi(CTX TYPE *to, const TYPE *from, size_t count,                 \
                                     uint64_t *signal, uint64_t value, int how, int pe);           \
  void PREFIX##NAME##_atomic_set(CTX TYPE *to, TYPE value, int pe);                                \
  TYPE PREFIX##NAME##_atomic_fetch(CTX const TYPE *from, int pe);                                  \
  void PREFIX##NAME##_atomic_fetch_nbi(CTX TYPE *result, const TYPE *from, int pe);                \
  TYPE PREFIX##NAME##_atomic_swap(CTX TYPE *to, TYPE value, int pe);                               \
  void PREFIX##NAME##_atomic_swap_nbi(CTX TYPE *result, TYPE *to, TYPE value, int pe);

#define PALISADE_AMO(NAME, TYPE, PREFIX, CTX)                                                      \
  TYPE PREFIX##NAME##_atomic_compare_swap(CTX TYPE *to, TYPE expected, TYPE value, int pe);        \
  void PREFIX##NAME##_atomic_compare_swap_nbi(CTX TYPE *result, TYPE *to, TYPE expected,           \
                                              TYPE value, int pe);                                 \
  void PREFIX##NAME##_atomic_inc(CTX TYPE *to, int pe);                                            \
  TYPE PREFIX##NAME##_atomic_fetch_inc(CTX TYPE *to, int pe);                                      \
  void PREFIX##NAME##_atomic_fetch_inc_nbi(CTX TYPE *result, TYPE *to, int pe);                    \
  void PREFIX##NAME##_atomic_add(CTX TYPE *to, TYPE value, int pe);                                \
  TYPE PREFIX##NAME##_atomic_fetch_add(CTX TYPE *to, TYPE value, int pe);                          \
  void PREFIX##NAME##_atomic_fetch_add_nbi(CTX TYPE *result, TYPE *to, TYPE value, int pe);        \
  void PREFIX##NAME##_atomic_and(CTX TYPE *to, TYPE value, int pe);                                \
  TYPE PREFIX##NAME##_atomic_fetch_and(CTX TYPE *to, TYPE value, int pe);                          \
  void PREFIX##NAME##_atomic_or(CTX TYPE *to, TYPE value, int pe);                                 \
  TYPE PREFIX##NAME##_atomic_fetch_or(CTX TYPE *to, TYPE value, int pe);                           \
  void PREFIX##NAME##_atomic_xor(CTX TYPE *to, TYPE value, int pe);                                \
  TYPE PREFIX##NAME##_atomic_fetch_xor(CTX TYPE *to, TYPE value, int pe);

#define PALISADE_COMMA ,
#define PALISADE_CTX shmem_ctx_t ctx PALISADE_COMMA
#define PALISADE_WAIT(NAME, TYPE)                                                                  \
  void shmem_##NAME##_wait_until(TYPE *at, int how, TYPE value);                                   \
  int shmem_##NAME##_test(TYPE *at, int how, TYPE value);                                          \
  int shmem_##NAME##_sum_reduce(shmem_team_t team, TYPE *to, const TYPE *from, size_t count);      \
  int shmem_##NAME##_prod_reduce(shmem_team_t team, TYPE *to, const TYPE *from, size_t count);     \
  int shmem_##NAME##_min_reduce(shmem_team_t team, TYPE *to, const TYPE *from, size_t count);      \
  int shmem_##NAME##_max_reduce(shmem_team_t team, TYPE *to, const TYPE *from, size_t count);      \
  int shmem_##NAME##_and_reduce(shmem_team_t team, TYPE *to, const TYPE *from, size_t count);      \
  int shmem_##NAME##_or_reduce(shmem_team_t team, TYPE *to, const TYPE *from, size_t count);       \
  int shmem_##NAME##_xor_reduce(shmem_team_t team, TYPE *to, const TYPE *from, size_t count);
#define PALISADE_INTEGER(NAME, TYPE)                                                               \
  PALISADE_RMA(NAME, TYPE, shmem_, )                                                               \
  PALISADE_RMA(NAME, TYPE, shmem_ctx_, PALISADE_CTX)                                               \
  PALISADE_AMO(NAME, TYPE, shmem_, )                                                               \
  PALISADE_AMO(NAME, TYPE, shmem_ctx_, PALISADE_CTX)                                               \
  PALISADE_WAIT(NAME, TYPE)

PALISADE_RMA(float, float, shmem_, )
PALISADE_RMA(double, double, shmem_, )
PALISADE_INTEGER(char, char)
PALISADE_INTEGER(short, short)
PALISADE_INTEGER(int, int)
PALISADE_INTEGER(long, long)
PALISADE_INTEGER(longlong, long long)
PALISADE_INTEGER(uint, unsigned int)
PALISADE_INTEGER(ulong, unsigned long)
PALISADE_INTEGER(ulonglong, unsigned long long)
PALISADE_INTEGER(int32, int32_t)
PALISADE_INTEGER(int64, int64_t)
PALISADE_INTEGER(uint32, uint32_t)
PALISADE_INTEGER(uint64, uint64_t)
PALISADE_INTEGER(size, size_t)
PALISADE_INTEGER(ptrdiff, ptrdiff_t)

#endif
