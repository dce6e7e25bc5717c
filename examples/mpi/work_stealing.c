/* Two tasks at rank 0: whoever fetches a ticket does the task. The flush behind the next ticket completes its result.
 * expect: -n 2 sc=holds rma=holds */
#include <assert.h>
#include <mpi.h>

enum { NEXT, RESULTS, TASKS = 2 };

int main(int argc, char **argv)
{
    int rank, one = 1, ticket = 0, result;
    int memory[RESULTS + TASKS] = {0, 0, 0};
    MPI_Win win;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Win_create(memory, sizeof(memory), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_lock_all(0, win);
    while (ticket < TASKS) {
        MPI_Fetch_and_op(&one, &ticket, MPI_INT, 0, NEXT, MPI_SUM, win);
        MPI_Win_flush(0, win);
        if (ticket < TASKS) {
            result = 7 * (ticket + 1);
            MPI_Put(&result, 1, MPI_INT, 0, RESULTS + ticket, 1, MPI_INT, win);
        }
    }
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        assert(memory[RESULTS] == 7 && memory[RESULTS + 1] == 14);
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
