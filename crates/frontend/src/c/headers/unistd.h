#ifndef __PALISADE_UNISTD
#define __PALISADE_UNISTD
#include <sys/types.h>
unsigned sleep(unsigned);
int usleep(unsigned);
void _exit(int);
#ifdef __PALISADE_CANCEL
#include <pthread.h>
static unsigned __palisade_cancel_sleep(unsigned seconds) { __palisade_cancel_test(); return sleep(seconds); }
static int __palisade_cancel_usleep(unsigned time) { __palisade_cancel_test(); return usleep(time); }
#define sleep __palisade_cancel_sleep
#define usleep __palisade_cancel_usleep
#endif
#endif
