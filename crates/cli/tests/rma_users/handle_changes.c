// explore=3 verify=3 ranks=2
// A handle that is another one at times: nothing is guessed.
#include <mpi.h>
#include <assert.h>
static MPI_Win win, other;
static int a, b, one = 1;
int main(int argc, char **argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Win_create(&a, sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_create(&b, sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &other);
    MPI_Barrier(MPI_COMM_WORLD);
    win = other;
    if (rank == 0) {
        MPI_Put(&one, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
        MPI_Win_flush(1, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) assert(a == 0);
    MPI_Finalize();
    return 0;
}
