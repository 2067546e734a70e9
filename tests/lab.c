/* The library that the small programs of the tests call: functions with nothing to them but a name
 * that a plan can hook. Built without optimisation, so that every call goes through a relocation
 * slot. */
#include <stdatomic.h>
#include <time.h>

static atomic_int bodies[26]; /* how often the body of a() to z() ran */

#define FUNCTION(name)                                                                             \
    int name(int x);                                                                               \
    int name(int x) {                                                                              \
        atomic_fetch_add(&bodies[#name[0] - 'a'], 1);                                              \
        return x;                                                                                  \
    }
FUNCTION(a)
FUNCTION(b)
FUNCTION(c)
FUNCTION(d)
FUNCTION(e)

int body_ran(char name);
int body_ran(char name) {
    return atomic_load(&bodies[name - 'a']);
}

/* Calls e() the given number of times: something to be within. */
int outer(int times);
int outer(int times) {
    int sum = 0;
    for (int i = 0; i < times; i++)
        sum += e(i);
    return sum;
}

int sleepy(int ms);
int sleepy(int ms) {
    return nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000L}, 0);
}

/* Busy for `ms`, never asleep. */
int busy(int ms);
int busy(int ms) {
    struct timespec now, start;
    clock_gettime(CLOCK_MONOTONIC, &start);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 < ms);
    return ms;
}

double mixed(int i, double d, long l, float f, const char *s, double e2, long a, long b, long c,
             long on_stack);
double mixed(int i, double d, long l, float f, const char *s, double e2, long a, long b, long c,
             long on_stack) {
    return i + d + l + f + s[0] + e2 + a + b + c + on_stack;
}
