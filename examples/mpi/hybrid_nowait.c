/* MPI with OpenMP: the master does not wait for the other thread, and may tell rank 1 before the data are there.
 * expect: -n 2 sc=violated rma=violated */
#include <assert.h>
#include <mpi.h>

int main(int argc, char **argv)
{
    int rank, provided, data = 42, other = 0, token = 1;
    int window = 0;
    MPI_Win win;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Win_create(&window, sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    if (rank == 0) {
#pragma omp parallel num_threads(2)
        {
#pragma omp sections nowait
            {
#pragma omp section
                {
                    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
                    MPI_Put(&data, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
                    MPI_Win_unlock(1, win);
                }
#pragma omp section
                other = other + 1;
            }
#pragma omp master
            MPI_Send(&token, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
        }
    } else {
        MPI_Recv(&token, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        assert(window == 42);
    }
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
