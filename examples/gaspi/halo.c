/* A halo exchange in a ring: each write brings a notification along.
 * expect: -n 2 sc=holds rma=holds */
#include <GASPI.h>
#include <assert.h>

int main(void)
{
    gaspi_rank_t me, size;
    gaspi_pointer_t memory;
    gaspi_notification_id_t first;
    gaspi_notification_t value;
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
    gaspi_write_notify(0, 1 * sizeof(int), left, 0, 3 * sizeof(int), sizeof(int), 1, 1, 0, GASPI_BLOCK);
    gaspi_write_notify(0, 2 * sizeof(int), right, 0, 0, sizeof(int), 0, 1, 0, GASPI_BLOCK);
    gaspi_notify_waitsome(0, 0, 1, &first, GASPI_BLOCK);
    gaspi_notify_reset(0, 0, &value);
    assert(field[0] == 10 * left + 2);
    gaspi_notify_waitsome(0, 1, 1, &first, GASPI_BLOCK);
    gaspi_notify_reset(0, 1, &value);
    assert(field[3] == 10 * right + 1);
    gaspi_wait(0, GASPI_BLOCK);
    gaspi_proc_term(GASPI_BLOCK);
    return 0;
}
