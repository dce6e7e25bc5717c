/* A lock of two ranks by compare-and-swap: what is written under it is complete before it is given back.
 * expect: -n 2 sc=holds rma=holds */
#include <mpi.h>
int main(int argc, char **argv) {
  int rank, one = 1, zero = 0, old, *base;
  MPI_Win win;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Win_allocate(2 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
  base[0] = 0;
  base[1] = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
  do {
    MPI_Compare_and_swap(&one, &zero, &old, MPI_INT, 0, 0, win);
    MPI_Win_flush_local(0, win);
  } while (old != 0);
  MPI_Put(&rank, 1, MPI_INT, 0, 1, 1, MPI_INT, win);
  MPI_Win_flush(0, win);
  MPI_Accumulate(&zero, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_REPLACE, win);
  MPI_Win_unlock(0, win);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_free(&win);
  MPI_Finalize();
  return 0;
}
