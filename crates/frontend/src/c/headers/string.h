/* Palisade's own. Functions on whole objects (memcpy, memset) are built in. */
#ifndef __PALISADE_STRING
#define __PALISADE_STRING
#include <stddef.h>
void *memcpy(void *, const void *, size_t);
void *memmove(void *, const void *, size_t);
void *memset(void *, int, size_t);
static char *strerror(int error) { return "error"; }
static size_t strlen(const char *s) {
  size_t n = 0;
  while (s[n]) n++;
  return n;
}
static char *strcpy(char *to, const char *from) {
  size_t n = 0;
  while ((to[n] = from[n])) n++;
  return to;
}
static char *strncpy(char *to, const char *from, size_t most) {
  size_t n = 0;
  for (; n < most && from[n]; n++) to[n] = from[n];
  for (; n < most; n++) to[n] = 0;
  return to;
}
static char *strcat(char *to, const char *from) {
  strcpy(to + strlen(to), from);
  return to;
}
static int strcmp(const char *a, const char *b) {
  size_t n = 0;
  while (a[n] && a[n] == b[n]) n++;
  return (int)(unsigned char)a[n] - (int)(unsigned char)b[n];
}
static int strncmp(const char *a, const char *b, size_t most) {
  size_t n = 0;
  while (n < most && a[n] && a[n] == b[n]) n++;
  return n == most ? 0 : (int)(unsigned char)a[n] - (int)(unsigned char)b[n];
}
static char *strchr(const char *s, int c) {
  size_t n = 0;
  while (s[n] && s[n] != (char)c) n++;
  return s[n] == (char)c ? (char *)(s + n) : NULL;
}
static char *strrchr(const char *s, int c) {
  size_t n = 0, last = 0;
  _Bool found = 0;
  for (;; n++) {
    if (s[n] == (char)c) {
      last = n;
      found = 1;
    }
    if (!s[n]) break;
  }
  return found ? (char *)(s + last) : NULL;
}
static size_t strnlen(const char *s, size_t most) {
  size_t n = 0;
  while (n < most && s[n]) n++;
  return n;
}
static char *strncat(char *to, const char *from, size_t most) {
  size_t end = strlen(to), n = 0;
  for (; n < most && from[n]; n++) to[end + n] = from[n];
  to[end + n] = 0;
  return to;
}
static size_t strspn(const char *s, const char *among) {
  size_t n = 0;
  while (s[n] && strchr(among, s[n])) n++;
  return n;
}
static size_t strcspn(const char *s, const char *among) {
  size_t n = 0;
  while (s[n] && !strchr(among, s[n])) n++;
  return n;
}
static char *strpbrk(const char *s, const char *among) {
  size_t n = strcspn(s, among);
  return s[n] ? (char *)(s + n) : NULL;
}
static char *strstr(const char *s, const char *part) {
  size_t length = strlen(part);
  for (size_t n = 0;; n++) {
    if (strncmp(s + n, part, length) == 0) return (char *)(s + n);
    if (!s[n]) return NULL;
  }
}
static int memcmp(const void *a, const void *b, size_t size) {
  const unsigned char *x = a, *y = b;
  for (size_t n = 0; n < size; n++)
    if (x[n] != y[n]) return (int)x[n] - (int)y[n];
  return 0;
}
static void *memchr(const void *s, int c, size_t size) {
  const unsigned char *x = s;
  for (size_t n = 0; n < size; n++)
    if (x[n] == (unsigned char)c) return (void *)(x + n);
  return NULL;
}
void *malloc(size_t);
static char *strdup(const char *s) {
  size_t length = strlen(s);
  char *to = malloc(length + 1);
  if (to) strcpy(to, s);
  return to;
}
static char *strndup(const char *s, size_t most) {
  size_t length = strnlen(s, most);
  char *to = malloc(length + 1);
  if (!to) return NULL;
  for (size_t n = 0; n < length; n++) to[n] = s[n];
  to[length] = 0;
  return to;
}
#endif
