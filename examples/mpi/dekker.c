/* The core of Dekker's algorithm over MPI windows: both ranks may miss the other's flag.
 * expect: -n 2 sc=holds rma=violated */
#include <assert.h>
#include <mpi.h>

int main(int argc, char **argv)
{
    int rank;
    int one = 1;
    volatile int *memory; /* the other's flag, and what was read of it */
    MPI_Win win;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Win_allocate(2 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    memory[0] = 0;
    memory[1] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    MPI_Put(&one, 1, MPI_INT, 1 - rank, 0, 1, MPI_INT, win);
    memory[1] = memory[0];
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        int other = 1;
        MPI_Get(&other, 1, MPI_INT, 1, 1, 1, MPI_INT, win);
        MPI_Win_flush(1, win);
        assert(memory[1] == 1 || other == 1);
    }
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
