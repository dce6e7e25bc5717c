/* Data, then a flag: without a fence the flag may come first.
 * expect: -n 2 sc=violated rma=violated */
#include <assert.h>
#include <shmem.h>

static int data, flag;

int main(void)
{
    shmem_init();
    if (shmem_my_pe() == 0) {
        shmem_int_p(&data, 42, 1);
        shmem_int_p(&flag, 1, 1);
    } else {
        shmem_int_wait_until(&flag, SHMEM_CMP_EQ, 1);
        assert(data == 42);
    }
    shmem_finalize();
    return 0;
}
