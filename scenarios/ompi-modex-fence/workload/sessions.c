/* Workload `sessions`: the same by MPI_Session_init, on the communicator of all processes. */
#include "job.h"

int main(int argc, char **argv) {
    MPI_Session session;
    MPI_Group group;
    MPI_Comm all;
    if (MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session))
        return 2;
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "holdpoint", MPI_INFO_NULL, MPI_ERRORS_RETURN, &all);
    bool right = job(all, argc > 1 ? argv[1] : "ring");
    MPI_Comm_free(&all);
    MPI_Group_free(&group);
    MPI_Session_finalize(&session);
    return say_end(right);
}
