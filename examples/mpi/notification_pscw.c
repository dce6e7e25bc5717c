/* Rank 0 fills the buffer of rank 1, which waits for the end of the exposure.
 * expect: -n 2 sc=holds rma=holds */
#include <assert.h>
#include <mpi.h>

int main(int argc, char **argv)
{
    int rank, data[2] = {0, 0}, source[2] = {4, 2};
    const int other[1] = {0}, target[1] = {1};
    MPI_Group all, group;
    MPI_Win win;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Win_create(data, 2 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    if (rank == 0) {
        MPI_Group_incl(all, 1, target, &group);
        MPI_Win_start(group, 0, win);
        MPI_Put(source, 2, MPI_INT, 1, 0, 2, MPI_INT, win);
        MPI_Win_complete(win);
        source[0] = 0;
    } else {
        MPI_Group_incl(all, 1, other, &group);
        MPI_Win_post(group, 0, win);
        MPI_Win_wait(win);
        assert(data[0] == 4 && data[1] == 2);
    }
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
