/* The names of GenMC that programs use: choices, threads and hints. Hints mean nothing here.
   Hazard pointers and persistent memory are left out: a program that uses them is refused. */
#ifndef PALISADE_GENMC_H
#define PALISADE_GENMC_H
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>

void __VERIFIER_assume(int);
int __VERIFIER_nondet_int(void);

typedef pthread_t __VERIFIER_thread_t;
#define __VERIFIER_spawn(function, argument) \
  ({ pthread_t __handle; pthread_create(&__handle, NULL, function, argument); __handle; })
#define __VERIFIER_spawn_symmetric(function, argument, like) __VERIFIER_spawn(function, argument)
#define __VERIFIER_join(thread) \
  ({ void *__result; pthread_join(thread, &__result); __result; })
#define __VERIFIER_join_symmetric(thread) ((void) pthread_join(thread, NULL))

#define __VERIFIER_loop_begin() ((void) 0)
#define __VERIFIER_spin_start() ((void) 0)
#define __VERIFIER_spin_end(condition) __VERIFIER_assume(condition)
#define __VERIFIER_local_write(statement) do { statement; } while (0)
#define __VERIFIER_final_write(statement) do { statement; } while (0)
#define __VERIFIER_CAS_helped_explicit atomic_compare_exchange_strong_explicit
#define __VERIFIER_CAS_helping_explicit atomic_compare_exchange_strong_explicit
#define __VERIFIER_helped_CAS(statement) do { statement; } while (0)
#define __VERIFIER_helping_CAS(statement) do { statement; } while (0)
#define __VERIFIER_speculative_read(expression) (expression)
#define __VERIFIER_confirming_read(expression) (expression)
#define __VERIFIER_confirming_CAS(expression) (expression)
#define __VERIFIER_final_CAS(expression) (expression)
#define __VERIFIER_optional(statement) \
  do { if (__VERIFIER_nondet_int()) { statement; __VERIFIER_assume(0); } } while (0)
#define __VERIFIER_method_begin(name, argument) ((void) 0)
#define __VERIFIER_method_end(name, result) ((void) 0)
#endif
