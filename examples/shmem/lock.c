/* A balance at PE 0, read and written under a lock.
 * expect: -n 2 sc=holds rma=holds */
#include <assert.h>
#include <shmem.h>

static int balance;
static long lock;

int main(void)
{
    int old;

    shmem_init();
    shmem_set_lock(&lock);
    old = shmem_int_g(&balance, 0);
    shmem_int_p(&balance, old + 10, 0);
    shmem_clear_lock(&lock);
    shmem_barrier_all();
    assert(shmem_int_g(&balance, 0) == 10 * shmem_n_pes());
    shmem_finalize();
    return 0;
}
