/* The sum of all PEs, by a reduction.
 * expect: -n 3 sc=holds rma=holds */
#include <assert.h>
#include <shmem.h>

static int own, sum;

int main(void)
{
    shmem_init();
    own = shmem_my_pe() + 1;
    shmem_barrier_all();
    shmem_int_sum_reduce(SHMEM_TEAM_WORLD, &sum, &own, 1);
    assert(sum == 6);
    shmem_finalize();
    return 0;
}
