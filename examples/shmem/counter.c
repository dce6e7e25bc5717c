/* A counter at PE 0, increased by all.
 * expect: -n 2 sc=holds rma=holds */
#include <assert.h>
#include <shmem.h>

static int counter;

int main(void)
{
    shmem_init();
    shmem_int_atomic_inc(&counter, 0);
    shmem_barrier_all();
    if (shmem_my_pe() == 0)
        assert(counter == shmem_n_pes());
    shmem_finalize();
    return 0;
}
