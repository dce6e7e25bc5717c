#ifndef __PALISADE_STDLIB
#define __PALISADE_STDLIB
#include <stddef.h>
#define EXIT_SUCCESS 0
#define EXIT_FAILURE 1
#define RAND_MAX 2147483647
void *malloc(size_t);
void *calloc(size_t, size_t);
void free(void *);
void abort(void);
void exit(int);
void _Exit(int);
int rand(void);
void srand(unsigned);
long random(void);
int atoi(const char *);
void *aligned_alloc(size_t, size_t);
void *memalign(size_t, size_t);
int posix_memalign(void **, size_t, size_t);
static int abs(int x) { return x < 0 ? -x : x; }
static long labs(long x) { return x < 0 ? -x : x; }
static long long llabs(long long x) { return x < 0 ? -x : x; }
#endif
