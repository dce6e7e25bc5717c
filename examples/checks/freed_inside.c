/* What is freed is not what was allocated: a pointer into it.
 * verdicts: sc violated, tso violated, rc11 violated */
#include <stdlib.h>

int main(void) {
    int *all = malloc(4 * sizeof(int));
    int *next = all;
    *next++ = 1;
    free(next);
    return 0;
}
