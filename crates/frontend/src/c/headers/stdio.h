#ifndef __PALISADE_STDIO
#define __PALISADE_STDIO
#include <stddef.h>
typedef struct __palisade_file FILE;
extern FILE *stdin, *stdout, *stderr;
#define EOF (-1)
int printf(const char *, ...);
int fprintf(FILE *, const char *, ...);
int puts(const char *);
int putchar(int);
int fputs(const char *, FILE *);
int fflush(FILE *);
void perror(const char *);
#endif
