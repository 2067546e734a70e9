/* What every small program of the tests has: the library of lab.c, threads, and lines that say what
 * happened. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif
int a(int), b(int), c(int), d(int), e(int);
int body_ran(char name);
int outer(int times), sleepy(int ms), busy(int ms);
double mixed(int, double, long, float, const char *, double, long, long, long, long);
#ifdef __cplusplus
}
#endif

static inline void nap(int ms) {
    struct timespec t = {ms / 1000, ms % 1000 * 1000000L};
    while (nanosleep(&t, &t)) {
    }
}

/* One line at once, however many threads and processes write. */
static inline void say(const char *what) {
    char line[200];
    int n = snprintf(line, sizeof line, "%s\n", what);
    if (write(1, line, (size_t)n) != n)
        abort();
}

static inline pthread_t go(void *(*f)(void *)) {
    pthread_t t;
    if (pthread_create(&t, NULL, f, NULL))
        abort();
    return t;
}

static inline void join(pthread_t t) {
    pthread_join(t, NULL);
}
