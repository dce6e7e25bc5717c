/* The producer does not wait until a buffer is free again.
 * expect: -n 2 sc=violated rma=violated */
#include <GASPI.h>
#include <assert.h>

#define BLOCKS 4

int main(void)
{
    gaspi_rank_t me;
    gaspi_pointer_t memory;
    gaspi_notification_id_t first;
    gaspi_notification_t value;
    int *buffer;
    int k;

    gaspi_proc_init(GASPI_BLOCK);
    gaspi_proc_rank(&me);
    gaspi_segment_create(0, 2 * sizeof(int), GASPI_GROUP_ALL, GASPI_BLOCK, GASPI_MEM_INITIALIZED);
    gaspi_segment_ptr(0, &memory);
    buffer = (int *)memory;
    for (k = 0; k < BLOCKS; k++) {
        int at = k % 2;
        if (me == 0) {
            buffer[at] = k + 1;
            gaspi_write_notify(0, at * sizeof(int), 1, 0, at * sizeof(int), sizeof(int), at, 1, 0,
                               GASPI_BLOCK);
        } else {
            gaspi_notify_waitsome(0, at, 1, &first, GASPI_BLOCK);
            gaspi_notify_reset(0, at, &value);
            assert(buffer[at] == k + 1);
            gaspi_notify(0, 0, at, 1, 0, GASPI_BLOCK);
        }
    }
    gaspi_proc_term(GASPI_BLOCK);
    return 0;
}
