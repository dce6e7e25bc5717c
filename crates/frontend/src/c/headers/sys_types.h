#include <stddef.h>
#include <pthread.h>
typedef long ssize_t;
typedef int pid_t;
