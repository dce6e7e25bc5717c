/* Functions over floating point: the values of most are not followed. */
#ifndef PALISADE_MATH_H
#define PALISADE_MATH_H
double sqrt(double);
double cbrt(double);
double fabs(double);
double floor(double);
double ceil(double);
double round(double);
double trunc(double);
double rint(double);
double exp(double);
double exp2(double);
double log(double);
double log2(double);
double log10(double);
double sin(double);
double cos(double);
double tan(double);
double asin(double);
double acos(double);
double atan(double);
double sinh(double);
double cosh(double);
double tanh(double);
double pow(double, double);
double fmod(double, double);
double fmin(double, double);
double fmax(double, double);
double atan2(double, double);
double hypot(double, double);
float sqrtf(float);
float cbrtf(float);
float fabsf(float);
float floorf(float);
float ceilf(float);
float roundf(float);
float truncf(float);
float rintf(float);
float expf(float);
float exp2f(float);
float logf(float);
float log2f(float);
float log10f(float);
float sinf(float);
float cosf(float);
float tanf(float);
float asinf(float);
float acosf(float);
float atanf(float);
float sinhf(float);
float coshf(float);
float tanhf(float);
float powf(float, float);
float fmodf(float, float);
float fminf(float, float);
float fmaxf(float, float);
float atan2f(float, float);
float hypotf(float, float);
#define M_PI 3.14159265358979323846
#define HUGE_VAL __builtin_huge_val()
#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#define isnan(x) __builtin_isnan(x)
#define isinf(x) __builtin_isinf_sign(x)
#define isfinite(x) __builtin_isfinite(x)
#endif
