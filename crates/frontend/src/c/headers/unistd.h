#ifndef __PALISADE_UNISTD
#define __PALISADE_UNISTD
#include <stddef.h>
unsigned sleep(unsigned);
int usleep(unsigned);
void _exit(int);
#endif
