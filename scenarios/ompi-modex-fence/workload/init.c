/* Workload `init`: MPI_Init, and then as stay.h says, with the file named by the first argument. A
 * plain MPI program; rank 0 of it is the one whose initialisation a plan lets fail. */
#include "stay.h"

#include <mpi.h>

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
    const char *file = argc > 1 ? argv[1] : "/nonexistent";
    stay_and_leave(initialise(&argc, &argv), file);
}
