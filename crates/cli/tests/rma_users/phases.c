// explore=0 verify=0 ranks=2
// Each rank gets its neighbour's value between fences, twice.
#include <mpi.h>
#include <assert.h>
int main(int argc, char *argv[]) {
    int rank, size, got = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int value = rank + 1;
    MPI_Win win;
    MPI_Win_create(&value, sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    for (int round = 0; round < 2; round++) {
        MPI_Win_fence(0, win);
        MPI_Get(&got, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, win);
        MPI_Win_fence(0, win);
        value += got;
    }
    assert(value == 6);
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
