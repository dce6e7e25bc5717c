/* Message passing over MPI windows: the data are flushed before the flag is put.
 * expect: -n 2 sc=holds rma=holds */
#include <assert.h>
#include <mpi.h>

int main(int argc, char **argv)
{
    int rank;
    volatile int *memory; /* the data and the flag */
    MPI_Win win;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Win_allocate(2 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    memory[0] = 0;
    memory[1] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    if (rank == 0) {
        int data = 42;
        int flag = 1;
        MPI_Put(&data, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
        MPI_Win_flush(1, win);
        MPI_Put(&flag, 1, MPI_INT, 1, 1, 1, MPI_INT, win);
        MPI_Win_flush(1, win);
    } else if (rank == 1) {
        while (memory[1] == 0) {
        }
        assert(memory[0] == 42);
    }
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
