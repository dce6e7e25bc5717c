/* A halo exchange in a ring: a barrier does not complete the puts.
 * expect: -n 2 sc=holds rma=violated */
#include <assert.h>
#include <mpi.h>

/* The left halo, two cells, the right halo. */
int field[4];

int main(int argc, char **argv)
{
    int rank, size, left, right;
    MPI_Win win;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    left = (rank + size - 1) % size;
    right = (rank + 1) % size;
    MPI_Win_create(field, 4 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    field[1] = 10 * rank + 1;
    field[2] = 10 * rank + 2;
    MPI_Win_fence(0, win);
    MPI_Put(&field[1], 1, MPI_INT, left, 3, 1, MPI_INT, win);
    MPI_Put(&field[2], 1, MPI_INT, right, 0, 1, MPI_INT, win);
    MPI_Barrier(MPI_COMM_WORLD);
    assert(field[0] == 10 * left + 2);
    assert(field[3] == 10 * right + 1);
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
