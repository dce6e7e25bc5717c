/* A sum at rank 0: accumulates of one operation may meet, and the fence completes them.
 * expect: -n 2 sc=holds rma=holds */
#include <assert.h>
#include <mpi.h>

int main(int argc, char **argv)
{
    int rank, own, sum = 0;
    MPI_Win win;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Win_create(&sum, sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    own = rank + 1;
    MPI_Win_fence(0, win);
    MPI_Accumulate(&own, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    if (rank == 0)
        assert(sum == 3);
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
