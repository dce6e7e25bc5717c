/* A halo exchange by messages: each rank writes its edge while it may still be sent.
 * expect: -n 2 sc=violated rma=violated */
#include <assert.h>
#include <mpi.h>

int main(int argc, char **argv)
{
    int rank, other, edge, halo = 0, inside = 0;
    MPI_Request requests[2];

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    other = 1 - rank;
    edge = 10 * (rank + 1);
    MPI_Irecv(&halo, 1, MPI_INT, other, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(&edge, 1, MPI_INT, other, 0, MPI_COMM_WORLD, &requests[1]);
    inside = inside + 1;
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    edge = edge + halo;
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    assert(edge == 30);
    MPI_Finalize();
    return 0;
}
