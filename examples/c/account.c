/* Deposit and withdrawal of any amounts behind a lock; the sum may wrap.
 * expect: sc=holds tso=holds */
#include <assert.h>
#include <pthread.h>

int nondet_int(void);

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int start, in, out, balance;
int deposited, withdrawn;

static void *deposit(void *unused) {
  (void)unused;
  pthread_mutex_lock(&lock);
  balance = balance + in;
  deposited = 1;
  pthread_mutex_unlock(&lock);
  return 0;
}

static void *withdraw(void *unused) {
  (void)unused;
  pthread_mutex_lock(&lock);
  balance = balance - out;
  withdrawn = 1;
  pthread_mutex_unlock(&lock);
  return 0;
}

int main(void) {
  pthread_t a, b;
  start = nondet_int();
  in = nondet_int();
  out = nondet_int();
  balance = start;
  pthread_create(&a, 0, deposit, 0);
  pthread_create(&b, 0, withdraw, 0);
  pthread_mutex_lock(&lock);
  if (deposited && withdrawn)
    assert(balance == start + in - out);
  pthread_mutex_unlock(&lock);
  return 0;
}
