/* Workloads `hello` and `ring`: a whole MPI program by MPI_Init. */
#include "job.h"

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "hello";
    MPI_Init(&argc, &argv);
    bool right = job(MPI_COMM_WORLD, what);
    MPI_Finalize();
    return say_end(right);
}
