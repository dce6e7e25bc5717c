/* Neighbours on one node load what the other has stored: a shared window, synchronised before and after the barrier.
 * expect: -n 2 sc=holds rma=holds */
#include <assert.h>
#include <mpi.h>

int main(int argc, char **argv)
{
    int rank, size, unit, next;
    int *mine, *neighbour;
    MPI_Aint bytes;
    MPI_Comm node;
    MPI_Win win;

    MPI_Init(&argc, &argv);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &rank);
    MPI_Comm_size(node, &size);
    next = (rank + 1) % size;
    MPI_Win_allocate_shared(2 * sizeof(int), sizeof(int), MPI_INFO_NULL, node, &mine, &win);
    MPI_Win_shared_query(win, next, &bytes, &unit, &neighbour);
    MPI_Win_lock_all(0, win);
    mine[0] = rank;
    mine[1] = 10 + rank;
    MPI_Win_sync(win);
    MPI_Barrier(node);
    MPI_Win_sync(win);
    assert(neighbour[0] == next && neighbour[1] == 10 + next);
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
