/* A node that rank 0 attaches to a dynamic window when it runs; rank 1 gets its address by a message and writes to it.
 * expect: -n 2 sc=holds rma=holds */
#include <assert.h>
#include <mpi.h>

int main(int argc, char **argv)
{
    int rank, value = 7, node[2] = {0, 0};
    MPI_Aint address = 0;
    MPI_Win win;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    if (rank == 0) {
        MPI_Win_attach(win, node, sizeof(node));
        MPI_Get_address(&node[1], &address);
        MPI_Send(&address, 1, MPI_AINT, 1, 0, MPI_COMM_WORLD);
    } else {
        MPI_Recv(&address, 1, MPI_AINT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        MPI_Put(&value, 1, MPI_INT, 0, address, 1, MPI_INT, win);
        MPI_Win_unlock(0, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        assert(node[1] == 7);
        MPI_Win_detach(win, node);
    }
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
