#ifndef __PALISADE_STRINGS
#define __PALISADE_STRINGS
#include <stddef.h>
#define ffs(x) __builtin_ffs(x)
#define ffsl(x) __builtin_ffsl(x)
#define ffsll(x) __builtin_ffsll(x)
#define bzero(to, size) memset((to), 0, (size))
void *memset(void *, int, size_t);
#endif
