/* What Palisade reads of OpenSHMEM 1.5. Functions are built in; handles are numbers. */
#ifndef PALISADE_SHMEM_H
#define PALISADE_SHMEM_H
#include <stddef.h>
#include <stdint.h>

typedef int shmem_ctx_t;
typedef int shmem_team_t;
typedef int shmem_team_config_t;

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

void *shmem_malloc(size_t size);
void *shmem_calloc(size_t count, size_t size);

#endif
