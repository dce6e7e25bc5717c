/* The largest element of an array of any contents: each thread looks at two of them. */
#include <assert.h>
#include <limits.h>
#include <pthread.h>
extern int __VERIFIER_nondet_int(void);

#define ELEMENTS 8
int elements[ELEMENTS];
int largest = INT_MIN;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *worker(void *unused) {
  (void)unused;
  int first = __VERIFIER_nondet_int();
  if (first < 0 || first > ELEMENTS - 2)
    return NULL;
  for (int i = first; i < first + 2; i++) {
    int element = elements[i];
    pthread_mutex_lock(&lock);
    if (element > largest)
      largest = element;
    pthread_mutex_unlock(&lock);
    assert(element <= largest);
  }
  return NULL;
}

int main(void) {
  pthread_t t;
  for (int i = 0; i < ELEMENTS; i++)
    elements[i] = __VERIFIER_nondet_int();
  while (1)
    pthread_create(&t, NULL, worker, NULL);
}
