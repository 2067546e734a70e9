/* Workload `init`: MPI_Init, then wait until the file named by the first argument exists, at most STAY_SECONDS. A
 * plain MPI program; rank 0 of it is the one whose init a plan lets fail.
 * Prints how init ended, so that a trial in which nothing failed does not count. */
#include <fcntl.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* A fence completes once the last rank has entered it, which takes its time on a busy machine: wait for the event,
 * never for a fixed short while. */
enum { STAY_SECONDS = 100 };

/* As an application does it: from a function with locals of its own, so that the frames of MPI_Init lie deeper than
 * those in which the program later waits. */
static __attribute__((noinline)) int initialise(int *argc, char ***argv) {
    char command[4096] = "";
    for (int i = 0; i < *argc; i++)
        strncat(command, (*argv)[i], sizeof command - strlen(command) - 1);
    int failed = MPI_Init(argc, argv);
    fprintf(stderr, "%s: MPI_Init returned %d\n", command, failed);
    return failed;
}

/* Open MPI ends the whole job once one rank has left without MPI_Finalize, so the failed rank stays until the others
 * are through their init. Each of those says so by a file in the job's folder for temporary files. */
static void name_of(char *name, size_t size, int rank) {
    const char *folder = getenv("TMPDIR");
    snprintf(name, size, "%s/init-done.%d", folder ? folder : "/tmp", rank);
}

static void say_done(int rank) {
    char name[1024];
    name_of(name, sizeof name, rank);
    int fd = open(name, O_WRONLY | O_CREAT, 0600);
    if (fd >= 0)
        close(fd);
}

static bool all_done(int ranks) {
    for (int rank = 1; rank < ranks; rank++) {
        char name[1024];
        struct stat st;
        name_of(name, sizeof name, rank);
        if (stat(name, &st))
            return false;
    }
    return true;
}

static void pause_shortly(void) {
    struct timespec t = {0, 50000000};
    nanosleep(&t, NULL);
}

static int number(const char *variable, int otherwise) {
    const char *value = getenv(variable);
    return value ? atoi(value) : otherwise;
}

int main(int argc, char **argv) {
    int rank = number("OMPI_COMM_WORLD_RANK", 0), ranks = number("OMPI_COMM_WORLD_SIZE", 1);
    const char *file = argc > 1 ? argv[1] : "/nonexistent";
    int failed = initialise(&argc, &argv);
    printf("holdpoint-workload: done init=%s code=%d\n", failed ? "fails" : "ok", failed);
    fflush(stdout);
    if (!failed)
        say_done(rank);
    for (int i = 0; (failed || rank) && i < STAY_SECONDS * 20 && access(file, F_OK); i++)
        pause_shortly();
    for (int i = 0; failed && i < STAY_SECONDS * 20 && !all_done(ranks); i++)
        pause_shortly();
    _exit(0);
}
