/* The lock of Mellor-Crummey and Scott for two ranks: the counter is complete before the lock is passed on.
 * expect: -n 2 sc=holds rma=holds */
#include <assert.h>
#include <mpi.h>

enum { TAIL, NEXT, GO, COUNT, SIZE };

int main(int argc, char **argv)
{
    int rank, me, none = 0, before, after, go, one = 1, count = 0;
    int memory[SIZE] = {0, 0, 0, 0};
    MPI_Win win;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Win_create(memory, SIZE * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_lock_all(0, win);
    me = rank + 1;
    /* acquire */
    MPI_Fetch_and_op(&me, &before, MPI_INT, 0, TAIL, MPI_REPLACE, win);
    MPI_Win_flush(0, win);
    if (before != 0) {
        MPI_Accumulate(&me, 1, MPI_INT, 1 - rank, NEXT, 1, MPI_INT, MPI_REPLACE, win);
        MPI_Win_flush(1 - rank, win);
        do {
            MPI_Fetch_and_op(&none, &go, MPI_INT, rank, GO, MPI_NO_OP, win);
            MPI_Win_flush(rank, win);
        } while (go == 0);
    }
    /* the critical section */
    MPI_Get(&count, 1, MPI_INT, 0, COUNT, 1, MPI_INT, win);
    MPI_Win_flush(0, win);
    count = count + 1;
    MPI_Put(&count, 1, MPI_INT, 0, COUNT, 1, MPI_INT, win);
    MPI_Win_flush(0, win);
    /* release */
    MPI_Compare_and_swap(&none, &me, &before, MPI_INT, 0, TAIL, win);
    MPI_Win_flush(0, win);
    if (before != me) {
        do {
            MPI_Fetch_and_op(&none, &after, MPI_INT, rank, NEXT, MPI_NO_OP, win);
            MPI_Win_flush(rank, win);
        } while (after == 0);
        MPI_Accumulate(&one, 1, MPI_INT, after - 1, GO, 1, MPI_INT, MPI_REPLACE, win);
        MPI_Win_flush(after - 1, win);
    }
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        assert(memory[COUNT] == 2);
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
