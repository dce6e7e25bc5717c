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
#endif
