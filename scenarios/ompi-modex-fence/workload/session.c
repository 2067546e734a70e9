/* Workload `session`: as `init`, but by MPI_Session_init, whose failure a program survives without
 * any help: Open MPI gives it the error code (MPI_ERRORS_RETURN). */
#include "stay.h"

#include <mpi.h>

static __attribute__((noinline)) int initialise(void) {
    char deep[4096];
    MPI_Session session = MPI_SESSION_NULL;
    int failed = MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    snprintf(deep, sizeof deep, "MPI_Session_init returned %d", failed);
    fprintf(stderr, "%s\n", deep);
    return failed;
}

int main(int argc, char **argv) {
    stay_and_leave(initialise(), argc > 1 ? argv[1] : "/nonexistent");
}
