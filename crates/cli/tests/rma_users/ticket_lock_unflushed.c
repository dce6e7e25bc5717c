// explore=1 verify=1 flushes=2 ranks=2
// The counter may be written after the lock was handed on.
#include <mpi.h>
#include <assert.h>
#define NEXT 0
#define SERVING 1
#define COUNT 2
int main(int argc, char **argv) {
    int rank, one = 1, mine, serving, c;
    int *mem;
    MPI_Win win;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Win_allocate(3 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &mem, &win);
    if (rank == 0) { mem[NEXT] = 0; mem[SERVING] = 0; mem[COUNT] = 0; }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    MPI_Fetch_and_op(&one, &mine, MPI_INT, 0, NEXT, MPI_SUM, win);
    MPI_Win_flush(0, win);
    do {
        MPI_Get(&serving, 1, MPI_INT, 0, SERVING, 1, MPI_INT, win);
        MPI_Win_flush(0, win);
    } while (serving != mine);
    MPI_Get(&c, 1, MPI_INT, 0, COUNT, 1, MPI_INT, win);
    MPI_Win_flush(0, win);
    c++;
    MPI_Put(&c, 1, MPI_INT, 0, COUNT, 1, MPI_INT, win);
    MPI_Accumulate(&one, 1, MPI_INT, 0, SERVING, 1, MPI_INT, MPI_SUM, win);
    MPI_Win_flush(0, win);
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) assert(mem[COUNT] == 2);
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
