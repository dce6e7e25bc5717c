/* The origin overwrites its buffer while the write may still read it.
 * expect: -n 2 sc=violated rma=violated */
#include <GASPI.h>
#include <assert.h>

int main(void)
{
    gaspi_rank_t me;
    gaspi_pointer_t memory;
    int *data;

    gaspi_proc_init(GASPI_BLOCK);
    gaspi_proc_rank(&me);
    gaspi_segment_create(0, 2 * sizeof(int), GASPI_GROUP_ALL, GASPI_BLOCK, GASPI_MEM_INITIALIZED);
    gaspi_segment_ptr(0, &memory);
    data = (int *)memory;
    if (me == 0) {
        data[0] = 1;
        gaspi_write_notify(0, 0, 1, 0, sizeof(int), sizeof(int), 0, 1, 0, GASPI_BLOCK);
        data[0] = 2;
    } else {
        gaspi_notification_id_t first;

        gaspi_notify_waitsome(0, 0, 1, &first, GASPI_BLOCK);
        assert(data[1] == 1);
    }
    gaspi_proc_term(GASPI_BLOCK);
    return 0;
}
