/* A balance at PE 0, written under a lock, but read before.
 * expect: -n 2 sc=violated rma=violated */
#include <assert.h>
#include <shmem.h>

static int balance;
static long lock;

int main(void)
{
    int old;

    shmem_init();
    old = shmem_int_g(&balance, 0);
    shmem_set_lock(&lock);
    shmem_int_p(&balance, old + 10, 0);
    shmem_clear_lock(&lock);
    shmem_barrier_all();
    assert(shmem_int_g(&balance, 0) == 10 * shmem_n_pes());
    shmem_finalize();
    return 0;
}
