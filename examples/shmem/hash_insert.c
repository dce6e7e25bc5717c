/* Every PE inserts its key into a table at PE 0 by compare-and-swap.
 * expect: -n 2 sc=holds rma=holds */
#include <assert.h>
#include <shmem.h>

static int table[2];

int main(void)
{
    int key;

    shmem_init();
    key = shmem_my_pe() + 1;
    if (shmem_int_atomic_compare_swap(&table[0], 0, key, 0) != 0)
        shmem_int_atomic_compare_swap(&table[1], 0, key, 0);
    shmem_barrier_all();
    if (shmem_my_pe() == 0)
        assert(table[0] + table[1] == 3);
    shmem_finalize();
    return 0;
}
