/* Every PE inserts its key into a table at PE 0: it looks whether a cell is free, and puts the key there.
 * expect: -n 2 sc=violated rma=violated */
#include <assert.h>
#include <shmem.h>

static int table[2];

int main(void)
{
    int key;

    shmem_init();
    key = shmem_my_pe() + 1;
    if (shmem_int_g(&table[0], 0) == 0)
        shmem_int_p(&table[0], key, 0);
    else
        shmem_int_p(&table[1], key, 0);
    shmem_barrier_all();
    if (shmem_my_pe() == 0)
        assert(table[0] + table[1] == 3);
    shmem_finalize();
    return 0;
}
