#ifndef __PALISADE_STDIO
#define __PALISADE_STDIO
#include <stddef.h>
typedef struct __palisade_file FILE;
extern FILE *stdin, *stdout, *stderr;
#define EOF (-1)
int printf(const char *, ...);
int vprintf(const char *, __builtin_va_list);
int vfprintf(FILE *, const char *, __builtin_va_list);
int fprintf(FILE *, const char *, ...);
int puts(const char *);
int putchar(int);
int fputs(const char *, FILE *);
int fflush(FILE *);
void perror(const char *);
int scanf(const char *, ...);
int fscanf(FILE *, const char *, ...);
int sscanf(const char *, const char *, ...);
int getchar(void);
int fgetc(FILE *);
int getc(FILE *);
_Bool __VERIFIER_nondet_bool(void);
char __VERIFIER_nondet_char(void);
/* Any text that fits, or nothing. */
static char *__palisade_fgets(char *to, int size) {
    if (size < 1 || __VERIFIER_nondet_bool()) return 0;
    int length = 0;
    while (length < size - 1 && __VERIFIER_nondet_bool()) {
        char c = __VERIFIER_nondet_char();
        to[length] = c;
        length++;
        if (c == '\n') break;
    }
    to[length] = 0;
    return to;
}
#define fgets(to, size, from) (__palisade_stream(from), __palisade_fgets(to, size))
#endif
