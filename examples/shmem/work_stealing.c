/* Two tasks at PE 0: whoever fetches a ticket does the task, and writes its result.
 * expect: -n 2 sc=holds rma=holds */
#include <assert.h>
#include <shmem.h>

static int next, results[2];

int main(void)
{
    int ticket;

    shmem_init();
    ticket = shmem_int_atomic_fetch_inc(&next, 0);
    while (ticket < 2) {
        shmem_int_p(&results[ticket], 7 * (ticket + 1), 0);
        ticket = shmem_int_atomic_fetch_inc(&next, 0);
    }
    shmem_barrier_all();
    if (shmem_my_pe() == 0)
        assert(results[0] == 7 && results[1] == 14);
    shmem_finalize();
    return 0;
}
