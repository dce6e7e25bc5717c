/* A spin lock in the assembler of x86: xchg takes it, a plain store gives it back.
 * expect: sc=holds tso=holds pso=violated */
#include <assert.h>
#include <pthread.h>

static unsigned char locked;
static int count;

static inline int test_and_set(volatile unsigned char *lock) {
  unsigned char old = 1;
  __asm__ __volatile__("lock; xchgb %0, %1" : "+q"(old), "+m"(*lock) : : "memory", "cc");
  return old;
}

static inline void release(volatile unsigned char *lock) {
  __asm__ __volatile__("movb $0, %0" : "=m"(*lock) : : "memory");
}

static void *run(void *arg) {
  (void)arg;
  for (;;) {
    while (test_and_set(&locked)) {
      __asm__ __volatile__("pause");
    }
    count = count + 1;
    assert(count == 1);
    count = count - 1;
    release(&locked);
  }
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, run, 0);
  pthread_create(&b, 0, run, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
}
