/* OpenMP: two threads add the numbers of an array, each its part, into one sum.
 * expect: sc=holds tso=holds pso=holds */
#include <assert.h>

int main(void)
{
    int numbers[4] = {1, 2, 3, 4};
    int sum = 0, parts = 0;

#pragma omp parallel num_threads(2) reduction(+ : sum)
    {
#pragma omp for
        for (int i = 0; i < 4; i++)
            sum += numbers[i];
#pragma omp atomic
        parts++;
    }
    assert(sum == 10 && parts == 2);
    return 0;
}
