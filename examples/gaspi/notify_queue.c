/* The notification is in another queue than the write, which it may overtake.
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
        data[0] = 42;
        gaspi_write(0, 0, 1, 0, sizeof(int), sizeof(int), 0, GASPI_BLOCK);
        gaspi_notify(0, 1, 0, 1, 1, GASPI_BLOCK);
        gaspi_wait(0, GASPI_BLOCK);
    } else {
        gaspi_notification_id_t first;
        gaspi_notification_t value;

        gaspi_notify_waitsome(0, 0, 1, &first, GASPI_BLOCK);
        gaspi_notify_reset(0, first, &value);
        assert(first == 0 && value == 1);
        assert(data[1] == 42);
    }
    gaspi_proc_term(GASPI_BLOCK);
    return 0;
}
