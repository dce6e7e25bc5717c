/* A counter at PE 0: shmem_sync_all completes no operation.
 * expect: -n 2 sc=violated rma=violated */
#include <assert.h>
#include <shmem.h>

static int counter;

int main(void)
{
    shmem_init();
    shmem_int_atomic_inc(&counter, 0);
    shmem_sync_all();
    if (shmem_my_pe() == 0)
        assert(counter == shmem_n_pes());
    shmem_finalize();
    return 0;
}
