/* The sum of all PEs, by gets: nobody waits until the others have written their numbers.
 * expect: -n 3 sc=violated rma=violated */
#include <assert.h>
#include <shmem.h>

static int own, sum;

int main(void)
{
    shmem_init();
    own = shmem_my_pe() + 1;
    for (int pe = 0; pe < shmem_n_pes(); pe++)
        sum += shmem_int_g(&own, pe);
    assert(sum == 6);
    shmem_finalize();
    return 0;
}
