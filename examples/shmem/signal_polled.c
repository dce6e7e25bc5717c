/* A signal that is read like a plain variable.
 * expect: -n 2 sc=violated rma=violated */
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
        while (signal != 1)
            ;
        assert(data[0] == 4 && data[1] == 2);
    }
    shmem_finalize();
    return 0;
}
