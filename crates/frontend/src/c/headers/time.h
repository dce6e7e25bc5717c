#ifndef __PALISADE_TIME
#define __PALISADE_TIME
#include <stddef.h>
typedef long time_t;
struct timespec {
  time_t tv_sec;
  long tv_nsec;
};
#define CLOCK_REALTIME 0
#define CLOCK_MONOTONIC 1
#define TIME_UTC 1
time_t time(time_t *);
int clock_gettime(int, struct timespec *);
int timespec_get(struct timespec *, int);
int nanosleep(const struct timespec *, struct timespec *);
#endif
