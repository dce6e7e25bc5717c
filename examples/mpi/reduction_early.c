/* A sum at rank 0 in a shared lock: the barrier completes no accumulate, so that the sum is read too early.
 * expect: -n 2 sc=violated rma=violated */
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
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
    MPI_Accumulate(&own, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        assert(sum == 3);
    MPI_Win_unlock(0, win);
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
