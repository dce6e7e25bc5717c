// explore=0 ranks=2
// The lock of Mellor-Crummey and Scott; two windows in variables of the file.
#include <mpi.h>
#include <assert.h>
enum { NEXT = 0, BLOCKED = 1, TAIL = 2, N = 3 };
static int *w;
static MPI_Win win;
static int rank;
static int nil = -1, zero = 0;
static void acquire(void) {
    int prev;
    w[NEXT] = nil;
    w[BLOCKED] = 1;
    MPI_Fetch_and_op(&rank, &prev, MPI_INT, 0, TAIL, MPI_REPLACE, win);
    MPI_Win_flush(0, win);
    if (prev != nil) {
        MPI_Accumulate(&rank, 1, MPI_INT, prev, NEXT, 1, MPI_INT, MPI_REPLACE, win);
        MPI_Win_flush(prev, win);
        while (w[BLOCKED]) MPI_Win_sync(win);
    }
}
static void release(void) {
    int was;
    MPI_Compare_and_swap(&nil, &rank, &was, MPI_INT, 0, TAIL, win);
    MPI_Win_flush(0, win);
    if (was != rank) {
        while (w[NEXT] == nil) MPI_Win_sync(win);
        MPI_Accumulate(&zero, 1, MPI_INT, w[NEXT], BLOCKED, 1, MPI_INT, MPI_REPLACE, win);
        MPI_Win_flush(w[NEXT], win);
    }
}
int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Win_allocate(N * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &w, &win);
    w[NEXT] = nil; w[BLOCKED] = 0; w[TAIL] = nil;
    MPI_Win data;
    int *d;
    MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &d, &data);
    *d = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    MPI_Win_lock_all(0, data);
    acquire();
    int c;
    MPI_Get(&c, 1, MPI_INT, 0, 0, 1, MPI_INT, data);
    MPI_Win_flush(0, data);
    c = c + 1;
    MPI_Put(&c, 1, MPI_INT, 0, 0, 1, MPI_INT, data);
    MPI_Win_flush(0, data);
    release();
    MPI_Win_unlock_all(data);
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) assert(*d == 2);
    MPI_Win_free(&data);
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
