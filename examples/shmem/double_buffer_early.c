/* PE 0 sends two items through two buffers; it uses the first again before PE 1 has read it.
 * expect: -n 2 sc=violated rma=violated */
#include <assert.h>
#include <shmem.h>

static int buffers[2], full, empty;

int main(void)
{
    shmem_init();
    if (shmem_my_pe() == 0) {
        shmem_int_p(&buffers[0], 10, 1);
        shmem_int_p(&buffers[1], 11, 1);
        shmem_fence();
        shmem_int_atomic_set(&full, 1, 1);
        shmem_int_p(&buffers[0], 12, 1);
        shmem_fence();
        shmem_int_atomic_set(&full, 2, 1);
    } else {
        shmem_int_wait_until(&full, SHMEM_CMP_GE, 1);
        assert(buffers[0] == 10);
        shmem_int_atomic_set(&empty, 1, 0);
        assert(buffers[1] == 11);
        shmem_int_wait_until(&full, SHMEM_CMP_GE, 2);
        assert(buffers[0] == 12);
    }
    shmem_finalize();
    return 0;
}
