/* Every rank inserts its key into a table at rank 0 by compare-and-swap.
 * expect: -n 2 sc=holds rma=holds */
#include <assert.h>
#include <mpi.h>

int main(int argc, char **argv)
{
    int rank, key, old, none = 0, slot = 0;
    int table[2] = {0, 0};
    MPI_Win win;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Win_create(table, 2 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    key = rank + 1;
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
    MPI_Compare_and_swap(&key, &none, &old, MPI_INT, 0, slot, win);
    MPI_Win_flush(0, win);
    if (old != 0) {
        slot = 1;
        MPI_Compare_and_swap(&key, &none, &old, MPI_INT, 0, slot, win);
        MPI_Win_flush(0, win);
    }
    MPI_Win_unlock(0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        assert(table[0] + table[1] == 3);
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
