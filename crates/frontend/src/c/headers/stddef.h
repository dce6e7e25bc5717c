#ifndef __PALISADE_STDDEF
#define __PALISADE_STDDEF
typedef unsigned long size_t;
typedef long ptrdiff_t;
typedef int wchar_t;
#define NULL ((void *)0)
#define offsetof(type, member) __builtin_offsetof(type, member)
/* Names of glibc that other headers use. */
typedef long __off_t;
typedef long __off64_t;
typedef long __ssize_t;
typedef long __time_t;
typedef int __pid_t;
typedef unsigned __mode_t;
#endif
