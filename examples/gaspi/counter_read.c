/* Tickets from a counter that is read, increased, and written back.
 * expect: -n 2 sc=violated rma=violated */
#include <GASPI.h>
#include <assert.h>

int main(void)
{
    gaspi_rank_t me, size;
    gaspi_pointer_t memory;
    unsigned long *words; /* the counter, and a copy of it */

    gaspi_proc_init(GASPI_BLOCK);
    gaspi_proc_rank(&me);
    gaspi_proc_num(&size);
    gaspi_segment_create(0, 2 * sizeof(unsigned long), GASPI_GROUP_ALL, GASPI_BLOCK,
                         GASPI_MEM_INITIALIZED);
    gaspi_segment_ptr(0, &memory);
    words = (unsigned long *)memory;
    gaspi_read(0, sizeof(unsigned long), 0, 0, 0, sizeof(unsigned long), 0, GASPI_BLOCK);
    gaspi_wait(0, GASPI_BLOCK);
    words[1]++;
    gaspi_write(0, sizeof(unsigned long), 0, 0, 0, sizeof(unsigned long), 0, GASPI_BLOCK);
    gaspi_wait(0, GASPI_BLOCK);
    gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK);
    gaspi_proc_term(GASPI_BLOCK);
    return 0;
}
