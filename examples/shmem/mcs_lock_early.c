/* The lock of Mellor-Crummey and Scott for two PEs, passed on before the counter is complete.
 * expect: -n 2 sc=violated rma=violated */
#include <assert.h>
#include <shmem.h>

static int tail, successor, go, count;

int main(void)
{
    int me, other, old;

    shmem_init();
    me = shmem_my_pe() + 1;
    other = 1 - shmem_my_pe();
    /* acquire */
    if (shmem_int_atomic_swap(&tail, me, 0) != 0) {
        shmem_int_atomic_set(&successor, me, other);
        shmem_int_wait_until(&go, SHMEM_CMP_EQ, 1);
    }
    /* the critical section */
    old = shmem_int_g(&count, 0);
    shmem_int_p(&count, old + 1, 0);
    /* release */
    if (shmem_int_atomic_compare_swap(&tail, me, 0, 0) != me) {
        shmem_int_wait_until(&successor, SHMEM_CMP_NE, 0);
        shmem_int_atomic_set(&go, 1, other);
    }
    shmem_barrier_all();
    if (shmem_my_pe() == 0)
        assert(count == 2);
    shmem_finalize();
    return 0;
}
