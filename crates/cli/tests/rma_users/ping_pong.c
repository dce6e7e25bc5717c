// explore=0 verify=0 ranks=2
// A ball between two ranks; the window is a variable of the file.
#include <stdio.h>
#include <stdlib.h>
#include <mpi.h>
#include <assert.h>
static int ball;
static MPI_Win win;
static void throw_ball(int to, int value) {
    int out = value;
    MPI_Put(&out, 1, MPI_INT, to, 0, 1, MPI_INT, win);
    MPI_Win_flush(to, win);
}
static void wait_ball(int value) {
    while (ball != value) { MPI_Win_sync(win); }
}
int main(int argc, char **argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    ball = 0;
    MPI_Win_create(&ball, sizeof ball, sizeof ball, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_lock_all(0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 2; i++) {
        if (rank == 0) { throw_ball(1, 2 * i + 1); wait_ball(2 * i + 2); }
        else { wait_ball(2 * i + 1); throw_ball(0, 2 * i + 2); }
    }
    assert(ball == 4 - rank);
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    MPI_Finalize();
    printf("done %d\n", rank);
    return EXIT_SUCCESS;
}
