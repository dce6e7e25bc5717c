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
void *realloc(void *, size_t);
#define alloca(size) __builtin_alloca(size)
/* Numbers in texts: what is too large becomes the largest, as C has it. */
static int __palisade_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'z') return c - 'a' + 10;
  if (c >= 'A' && c <= 'Z') return c - 'A' + 10;
  return 99;
}
static unsigned long __palisade_number(const char *s, char **end, int base, _Bool *minus, _Bool *over, unsigned long most) {
  size_t n = 0, at = 0;
  unsigned long value = 0;
  _Bool any = 0;
  *minus = 0;
  *over = 0;
  while (s[n] == ' ' || (s[n] >= 9 && s[n] <= 13)) n++;
  if (s[n] == '-' || s[n] == '+') {
    *minus = s[n] == '-';
    n++;
  }
  if ((base == 0 || base == 16) && s[n] == '0' && (s[n + 1] == 'x' || s[n + 1] == 'X') && __palisade_digit(s[n + 2]) < 16) {
    n += 2;
    base = 16;
  } else if (base == 0) {
    base = s[n] == '0' ? 8 : 10;
  }
  if (*minus && most == (unsigned long)(~0ul >> 1)) most++;
  for (; __palisade_digit(s[n]) < base; n++) {
    unsigned long digit = (unsigned long)__palisade_digit(s[n]);
    any = 1;
    /* value * base + digit > most, without wrapping */
    unsigned long next = value;
    for (int k = 1; k < base && !*over; k++) {
      if (next > most - value) *over = 1;
      else next += value;
    }
    if (!*over && digit > most - next) *over = 1;
    if (!*over) value = next + digit;
  }
  at = any ? n : 0;
  if (end) *end = (char *)(s + at);
  return *over ? most : value;
}
static long strtol(const char *s, char **end, int base) {
  _Bool minus, over;
  unsigned long value = __palisade_number(s, end, base, &minus, &over, ~0ul >> 1);
  return minus ? (long)(0ul - value) : (long)value;
}
static unsigned long strtoul(const char *s, char **end, int base) {
  _Bool minus, over;
  unsigned long value = __palisade_number(s, end, base, &minus, &over, ~0ul);
  return minus && !over ? 0ul - value : value;
}
static int atoi(const char *s) { return (int)strtol(s, (char **)0, 10); }
static long atol(const char *s) { return strtol(s, (char **)0, 10); }
void *aligned_alloc(size_t, size_t);
void *memalign(size_t, size_t);
int posix_memalign(void **, size_t, size_t);
static int abs(int x) { return x < 0 ? -x : x; }
static long labs(long x) { return x < 0 ? -x : x; }
static long long llabs(long long x) { return x < 0 ? -x : x; }
#endif
