/* The same with a wait for the queue and a barrier: neither says that the data are there.
 * expect: -n 2 sc=violated rma=violated */
#include <GASPI.h>
#include <assert.h>

int main(void)
{
    gaspi_rank_t me, size;
    gaspi_pointer_t memory;
    int left, right;
    int *field; /* the left halo, two cells, the right halo */

    gaspi_proc_init(GASPI_BLOCK);
    gaspi_proc_rank(&me);
    gaspi_proc_num(&size);
    left = (me + size - 1) % size;
    right = (me + 1) % size;
    gaspi_segment_create(0, 4 * sizeof(int), GASPI_GROUP_ALL, GASPI_BLOCK, GASPI_MEM_INITIALIZED);
    gaspi_segment_ptr(0, &memory);
    field = (int *)memory;
    field[1] = 10 * me + 1;
    field[2] = 10 * me + 2;
    gaspi_write(0, 1 * sizeof(int), left, 0, 3 * sizeof(int), sizeof(int), 0, GASPI_BLOCK);
    gaspi_write(0, 2 * sizeof(int), right, 0, 0, sizeof(int), 0, GASPI_BLOCK);
    gaspi_wait(0, GASPI_BLOCK);
    gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK);
    assert(field[0] == 10 * left + 2);
    assert(field[3] == 10 * right + 1);
    gaspi_proc_term(GASPI_BLOCK);
    return 0;
}
