#define _mm_pause() __asm__ __volatile__("pause")
#define _mm_mfence() __asm__ __volatile__("mfence" ::: "memory")
#define _mm_sfence() __asm__ __volatile__("sfence" ::: "memory")
#define _mm_lfence() __asm__ __volatile__("lfence" ::: "memory")
