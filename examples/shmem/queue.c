/* A queue with two cells at PE 0: the others fetch a ticket, put their item, and set its flag behind a fence.
 * expect: -n 3 sc=holds rma=holds */
#include <assert.h>
#include <shmem.h>

static int tail, flags[2], items[2];

int main(void)
{
    int me, ticket;

    shmem_init();
    me = shmem_my_pe();
    if (me > 0) {
        ticket = shmem_int_atomic_fetch_inc(&tail, 0);
        shmem_int_p(&items[ticket], 10 * me, 0);
        shmem_fence();
        shmem_int_atomic_set(&flags[ticket], 1, 0);
    } else {
        shmem_int_wait_until(&flags[0], SHMEM_CMP_EQ, 1);
        assert(items[0] == 10 || items[0] == 20);
    }
    shmem_finalize();
    return 0;
}
