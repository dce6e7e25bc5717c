/* OpenMP: two threads add the numbers of an array into a sum that they share: additions are lost.
 * expect: sc=violated tso=violated pso=violated */
#include <assert.h>

int main(void)
{
    int numbers[4] = {1, 2, 3, 4};
    int sum = 0;

#pragma omp parallel for num_threads(2)
    for (int i = 0; i < 4; i++)
        sum += numbers[i];
    assert(sum == 10);
    return 0;
}
