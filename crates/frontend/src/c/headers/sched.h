#ifndef __PALISADE_SCHED
#define __PALISADE_SCHED
typedef struct __palisade_cpu_set { unsigned long bits[16]; } cpu_set_t;
#define CPU_SETSIZE 1024
#define CPU_ZERO(set) ((void)(set))
#define CPU_SET(cpu, set) ((void)(cpu), (void)(set))
#define CPU_CLR(cpu, set) ((void)(cpu), (void)(set))
#define SCHED_OTHER 0
#define SCHED_FIFO 1
#define SCHED_RR 2
struct sched_param { int sched_priority; };
int sched_yield(void);
int sched_setaffinity(int, unsigned long, const cpu_set_t *);
#endif
