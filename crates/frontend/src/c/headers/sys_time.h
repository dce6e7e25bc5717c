#ifndef __PALISADE_SYS_TIME
#define __PALISADE_SYS_TIME
#include <time.h>
struct timeval {
  time_t tv_sec;
  long tv_usec;
};
int gettimeofday(struct timeval *, void *);
#endif
