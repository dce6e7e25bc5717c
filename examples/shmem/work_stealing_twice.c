/* Two tasks at PE 0: two PEs may look at the same ticket, and both write its result.
 * expect: -n 2 sc=violated rma=violated */
#include <assert.h>
#include <shmem.h>

static int next, results[2];

int main(void)
{
    int ticket = 0;

    shmem_init();
    while (ticket < 2) {
        ticket = shmem_int_atomic_fetch(&next, 0);
        shmem_int_atomic_set(&next, ticket + 1, 0);
        shmem_quiet();
        if (ticket < 2)
            shmem_int_p(&results[ticket], 7 * (ticket + 1), 0);
        shmem_quiet();
    }
    shmem_barrier_all();
    if (shmem_my_pe() == 0)
        assert(results[0] == 7 && results[1] == 14);
    shmem_finalize();
    return 0;
}
