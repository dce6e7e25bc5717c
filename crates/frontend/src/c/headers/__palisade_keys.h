/* Palisade's own: values of keys that each thread has for itself. */
#ifndef __PALISADE_KEYS
#define __PALISADE_KEYS
#define __PALISADE_KEYS_MAX 4
static int __palisade_keys_made;
static void (*__palisade_key_end[__PALISADE_KEYS_MAX])(void *);
static _Thread_local void *__palisade_key_value[__PALISADE_KEYS_MAX];
static int __palisade_key_create(unsigned *key, void (*end)(void *)) {
    __VERIFIER_atomic_begin();
    int k = __palisade_keys_made;
    if (k >= __PALISADE_KEYS_MAX) __palisade_unsupported("more than four keys");
    __palisade_keys_made = k + 1;
    __palisade_key_end[k] = end;
    __VERIFIER_atomic_end();
    *key = k;
    return 0;
}
static void *__palisade_key_get(unsigned key) {
    return __palisade_key_value[key];
}
static int __palisade_key_set(unsigned key, const void *value) {
    __palisade_key_value[key] = (void *)value;
    return 0;
}
static int __palisade_key_delete(unsigned key) {
    __palisade_key_end[key] = 0;
    return 0;
}
static void __palisade_thread_end(void) {
    for (int k = 0; k < __PALISADE_KEYS_MAX; k++) {
        void *value = __palisade_key_value[k];
        void (*end)(void *) = __palisade_key_end[k];
        if (value && end) {
            __palisade_key_value[k] = 0;
            end(value);
            if (__palisade_key_value[k])
                __palisade_unsupported("a destructor that sets its key again");
        }
    }
}
#endif
