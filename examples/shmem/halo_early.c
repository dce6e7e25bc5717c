/* A halo exchange: a cell is changed while a put that does not block still reads it.
 * expect: -n 2 sc=violated rma=violated */
#include <assert.h>
#include <shmem.h>

/* The left halo, two cells, the right halo. */
static int field[4];

int main(void)
{
    int me, size, left, right;

    shmem_init();
    me = shmem_my_pe();
    size = shmem_n_pes();
    left = (me + size - 1) % size;
    right = (me + 1) % size;
    field[1] = 10 * me + 1;
    field[2] = 10 * me + 2;
    shmem_int_put_nbi(&field[3], &field[1], 1, left);
    field[1] = 0;
    shmem_int_put(&field[0], &field[2], 1, right);
    shmem_barrier_all();
    assert(field[0] == 10 * left + 2);
    assert(field[3] == 10 * right + 1);
    shmem_finalize();
    return 0;
}
