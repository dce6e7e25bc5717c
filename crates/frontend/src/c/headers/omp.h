#ifndef __PALISADE_OMP
#define __PALISADE_OMP
#include <pthread.h>
int omp_get_thread_num(void);
int omp_get_num_threads(void);
int omp_in_parallel(void);
double omp_get_wtime(void);
typedef pthread_mutex_t omp_lock_t;
#define omp_init_lock(lock) ((void) pthread_mutex_init(lock, 0))
#define omp_destroy_lock(lock) ((void) pthread_mutex_destroy(lock))
#define omp_set_lock(lock) ((void) pthread_mutex_lock(lock))
#define omp_unset_lock(lock) ((void) pthread_mutex_unlock(lock))
#define omp_test_lock(lock) (pthread_mutex_trylock(lock) == 0)
#endif
