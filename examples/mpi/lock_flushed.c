/* A lock by MPI_Compare_and_swap on rank 0: the data are flushed before the release.
 * expect: -n 2 sc=holds rma=holds */
#include <assert.h>
#include <mpi.h>

int main(int argc, char **argv)
{
    int rank;
    int zero = 0, one = 1, old = 1, count = 0;
    volatile int *memory; /* the lock and a counter */
    MPI_Win win;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Win_allocate(2 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    memory[0] = 0;
    memory[1] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    do {
        MPI_Compare_and_swap(&one, &zero, &old, MPI_INT, 0, 0, win);
        MPI_Win_flush(0, win);
    } while (old != 0);
    MPI_Get(&count, 1, MPI_INT, 0, 1, 1, MPI_INT, win);
    MPI_Win_flush(0, win);
    count = count + 1;
    MPI_Put(&count, 1, MPI_INT, 0, 1, 1, MPI_INT, win);
    MPI_Win_flush(0, win);
    MPI_Accumulate(&zero, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_REPLACE, win);
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        assert(memory[1] == 2);
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
