/* What a program does whose initialisation may have failed, the same for `init`, `session` and
 * `client`: it says how that ended and stays until a file exists, at most STAY_SECONDS; plans end
 * that wait through its calls of access(). A rank whose initialisation failed stays under a canary,
 * a pattern over the frames that it left, and says at its end whether that is as it was. One
 * thread. */
#ifndef STAY_H
#define STAY_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* What is waited for comes within milliseconds of the failed initialisation, or never: plans see to
 * that. */
enum { STAY_SECONDS = 10, CANARY_BYTES = 65536, CANARY = 0xa5 };

static void stay_until(const char *file) {
    for (int i = 0; i < STAY_SECONDS * 20 && access(file, F_OK); i++)
        nanosleep(&(struct timespec){0, 50000000}, NULL);
}

/* In a frame as large as what the initialisation had, at the same place. */
static __attribute__((noinline)) bool stay_under_canary(const char *file) {
    volatile unsigned char canary[CANARY_BYTES];
    bool intact = true;
    for (int i = 0; i < CANARY_BYTES; i++)
        canary[i] = CANARY;
    stay_until(file);
    for (int i = 0; i < CANARY_BYTES; i++)
        if (canary[i] != CANARY) {
            fprintf(stderr, "byte %d of the canary went from 0x%02x to 0x%02x\n", i, CANARY,
                    canary[i]);
            intact = false;
        }
    return intact;
}

/* `failed`: what the initialisation returned. */
static void stay(int failed, const char *file) {
    if (!failed)
        printf("holdpoint-workload: done init=ok code=0\n");
    else if (stay_under_canary(file))
        printf("holdpoint-workload: done init=fails code=%d canary=intact\n", failed);
    else
        printf("holdpoint-workload: done init=fails code=%d canary=changed\n", failed);
    fflush(stdout);
}

/* Of an MPI program, which does not call MPI_Finalize when a rank has failed: its peers stay, too,
 * until it has left; then Open MPI ends them all. */
static inline _Noreturn void stay_and_leave(int failed, const char *file) {
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    stay(failed, file);
    if (!failed && rank && strcmp(rank, "0"))
        stay_until(file);
    _exit(0);
}

#endif
