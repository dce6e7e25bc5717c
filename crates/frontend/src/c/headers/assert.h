/* Palisade's own: assertions are steps of the program. */
#undef assert
#ifdef NDEBUG
#define assert(expression) ((void)0)
#else
extern void __palisade_assert(int);
#define assert(expression) __palisade_assert(expression)
#endif
#define static_assert _Static_assert
