/* Two buffers: while one is summed, the other is fetched; a request says when it is there.
 * expect: -n 2 sc=holds rma=holds */
#include <assert.h>
#include <mpi.h>

int main(int argc, char **argv)
{
    int rank, sum = 0, data[2], first = 0, second = 0;
    MPI_Request request;
    MPI_Win win;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    data[0] = 3;
    data[1] = 4;
    MPI_Win_create(data, 2 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_lock_all(0, win);
    if (rank == 0) {
        MPI_Rget(&first, 1, MPI_INT, 1, 0, 1, MPI_INT, win, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Rget(&second, 1, MPI_INT, 1, 1, 1, MPI_INT, win, &request);
        sum = first;
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        sum += second;
        assert(sum == 7);
    }
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
