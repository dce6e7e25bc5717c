/* Palisade's own: the C locale. */
#ifndef __PALISADE_CTYPE
#define __PALISADE_CTYPE
static int isdigit(int c) { return c >= '0' && c <= '9'; }
static int islower(int c) { return c >= 'a' && c <= 'z'; }
static int isupper(int c) { return c >= 'A' && c <= 'Z'; }
static int isalpha(int c) { return islower(c) || isupper(c); }
static int isalnum(int c) { return isalpha(c) || isdigit(c); }
static int isspace(int c) { return c == ' ' || (c >= 9 && c <= 13); }
static int isblank(int c) { return c == ' ' || c == 9; }
static int isprint(int c) { return c >= 32 && c < 127; }
static int isgraph(int c) { return c > 32 && c < 127; }
static int iscntrl(int c) { return (c >= 0 && c < 32) || c == 127; }
static int ispunct(int c) { return isgraph(c) && !isalnum(c); }
static int isxdigit(int c) { return isdigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
static int tolower(int c) { return isupper(c) ? c + 32 : c; }
static int toupper(int c) { return islower(c) ? c - 32 : c; }
#endif
