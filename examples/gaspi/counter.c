/* Tickets from a counter at rank 0.
 * expect: -n 2 sc=holds rma=holds */
#include <GASPI.h>
#include <assert.h>

int main(void)
{
    gaspi_rank_t me, size;
    gaspi_pointer_t memory;
    gaspi_atomic_value_t old;
    unsigned long *counter;

    gaspi_proc_init(GASPI_BLOCK);
    gaspi_proc_rank(&me);
    gaspi_proc_num(&size);
    gaspi_segment_create(0, sizeof(unsigned long), GASPI_GROUP_ALL, GASPI_BLOCK,
                         GASPI_MEM_INITIALIZED);
    gaspi_segment_ptr(0, &memory);
    counter = (unsigned long *)memory;
    gaspi_atomic_fetch_add(0, 0, 0, 1, &old, GASPI_BLOCK);
    assert(old < size);
    gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK);
    if (me == 0) {
        assert(*counter == size);
    }
    gaspi_proc_term(GASPI_BLOCK);
    return 0;
}
