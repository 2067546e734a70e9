/* Workload `init`: MPI_Init, then wait until the file named by the first argument exists, at most
 * STAY_SECONDS. A plain MPI program; rank 0 of it is the one whose init a plan lets fail. Prints
 * how init ended, so that a trial in which nothing failed does not count. */
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* What is waited for comes within milliseconds of the failed init, or never: plans see to that. */
enum { STAY_SECONDS = 10 };

/* As an application does it: from a function with locals of its own, so that the frames of MPI_Init
 * lie deeper than those in which the program later waits. */
static __attribute__((noinline)) int initialise(int *argc, char ***argv) {
    char command[4096] = "";
    for (int i = 0; i < *argc; i++)
        strncat(command, (*argv)[i], sizeof command - strlen(command) - 1);
    int failed = MPI_Init(argc, argv);
    fprintf(stderr, "%s: MPI_Init returned %d\n", command, failed);
    return failed;
}

int main(int argc, char **argv) {
    const char *file = argc > 1 ? argv[1] : "/nonexistent", *rank = getenv("OMPI_COMM_WORLD_RANK");
    int failed = initialise(&argc, &argv);
    printf("holdpoint-workload: done init=%s code=%d\n", failed ? "fails" : "ok", failed);
    fflush(stdout);
    /* The peers of a failed rank come through their init only when it has left: the last fence
     * waits for it. Then Open MPI ends the whole job, since one rank has left without MPI_Finalize.
     */
    bool is_peer = rank && strcmp(rank, "0");
    for (int i = 0; (failed || is_peer) && i < STAY_SECONDS * 20 && access(file, F_OK); i++) {
        struct timespec t = {0, 50000000};
        nanosleep(&t, NULL);
    }
    _exit(0);
}
