// explore=0 verify=0 ranks=4
// Borders of a two by two grid, exchanged between fences.
#include <mpi.h>
#include <assert.h>
#define LEFT 0
#define RIGHT 1
#define UP 2
#define DOWN 3
int main(int argc, char **argv) {
    int rank, size;
    int *ghost;
    MPI_Win win;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Win_allocate(4 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &ghost, &win);
    int px = rank % 2, py = rank / 2;
    int nx = (1 - px) + 2 * py;
    int ny = px + 2 * (1 - py);
    int mine = rank + 1;
    for (int i = 0; i < 4; i++) ghost[i] = 0;
    MPI_Win_fence(0, win);
    MPI_Put(&mine, 1, MPI_INT, nx, px == 0 ? LEFT : RIGHT, 1, MPI_INT, win);
    MPI_Put(&mine, 1, MPI_INT, ny, py == 0 ? UP : DOWN, 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    assert(ghost[px == 0 ? RIGHT : LEFT] == nx + 1);
    assert(ghost[py == 0 ? DOWN : UP] == ny + 1);
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
