/* A put with a signal: whoever sees the signal may read the data.
 * expect: -n 2 sc=holds rma=holds */
#include <assert.h>
#include <shmem.h>

static int data[2];
static uint64_t signal;

int main(void)
{
    int source[2] = {4, 2};

    shmem_init();
    if (shmem_my_pe() == 0) {
        shmem_int_put_signal(data, source, 2, &signal, 1, SHMEM_SIGNAL_SET, 1);
    } else {
        shmem_signal_wait_until(&signal, SHMEM_CMP_EQ, 1);
        assert(data[0] == 4 && data[1] == 2);
    }
    shmem_finalize();
    return 0;
}
