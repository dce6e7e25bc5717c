// explore=0 verify=0 ranks=2
// Only rank 0 has elements.
#include <mpi.h>
#include <assert.h>
static int total;
int main(int argc, char **argv) {
    int rank, mine = 2;
    MPI_Win win;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    total = 0;
    if (rank == 0)
        MPI_Win_create(&total, sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    else
        MPI_Win_create(NULL, 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_fence(0, win);
    MPI_Accumulate(&mine, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win);
    MPI_Win_fence(0, win);
    if (rank == 0) assert(total == 4);
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
