/* A queue at rank 0: the flag of an item may be set before the item is there.
 * expect: -n 3 sc=holds rma=violated */
#include <assert.h>
#include <mpi.h>

enum { TAIL, FLAGS, ITEMS = 3, SIZE = 5 };

int main(int argc, char **argv)
{
    int rank, ticket, one = 1, item, nothing = 0, flag;
    int queue[SIZE] = {0, 0, 0, 0, 0};
    MPI_Win win;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Win_create(queue, SIZE * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_lock_all(0, win);
    if (rank > 0) {
        item = 10 * rank;
        MPI_Fetch_and_op(&one, &ticket, MPI_INT, 0, TAIL, MPI_SUM, win);
        MPI_Win_flush(0, win);
        MPI_Put(&item, 1, MPI_INT, 0, ITEMS + ticket, 1, MPI_INT, win);
        MPI_Accumulate(&one, 1, MPI_INT, 0, FLAGS + ticket, 1, MPI_INT, MPI_REPLACE, win);
    } else {
        do {
            MPI_Fetch_and_op(&nothing, &flag, MPI_INT, 0, FLAGS, MPI_NO_OP, win);
            MPI_Win_flush(0, win);
        } while (flag == 0);
        assert(queue[ITEMS] == 10 || queue[ITEMS] == 20);
    }
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
