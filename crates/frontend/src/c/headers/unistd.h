#ifndef __PALISADE_UNISTD
#define __PALISADE_UNISTD
#include <sys/types.h>
unsigned sleep(unsigned);
int usleep(unsigned);
void _exit(int);
#endif
