/* holdpoint-rank COMMAND…: starts one rank of a trial. Finds the board, takes a slot, opens the
 * rank's logs, prepares the environment for this one program and becomes it. Needs libc alone. The
 * launchers run it once a rank; so may anybody's own mpirun or srun line, as `holdpoint rank`.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exit_status.h"
#include "program.h"
#include "slot.h"
#include "surroundings.h"

enum { EXIT_NOT_RUNNABLE = 126, EXIT_MISSING = 127 }; /* as a shell says it */

static const char usage[] =
    "usage: holdpoint rank COMMAND [ARGUMENT…]\n"
    "\n"
    "Starts COMMAND as one rank of the trial whose board HOLDPOINT_BOARD names. The rank is read "
    "from\n"
    "HOLDPOINT_RANK, OMPI_COMM_WORLD_RANK, PMIX_RANK, SLURM_PROCID or PMI_RANK. For launch lines "
    "of your\n"
    "own:  holdpoint exec --plan FILE -- mpirun -np 32 holdpoint rank ./app\n";

/* Appended to, so that a second process of the same rank adds to the log. */
static bool open_log(const char *dir, int32_t rank, const char *suffix, int as) {
    char path[PATH_MAX];
    int length = snprintf(path, sizeof path, "%s/rank.%d.%s", dir, rank, suffix);
    int fd = length < (int)sizeof path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)
                                       : -1;
    if (fd < 0 || dup2(fd, as) < 0) {
        fprintf(stderr, "holdpoint rank: rank %d cannot open its log %s: %s\n", rank, path,
                strerror(errno));
        return false;
    }
    close(fd);
    return true;
}

/* Says what stands in the way, in the rank's log and on the board. */
static void note_problem(struct board *b, int slot, const char *problem) {
    struct board_slot *s = &board_slots(b)[slot];
    fprintf(stderr, "holdpoint rank: rank %d: %s\n", s->rank, problem);
    snprintf(s->problem, sizeof s->problem, "%s", problem);
}

static void prepare_preload(struct board *b, int slot, const struct program *p) {
    const char *shim = board_string(b, b->shim_path);
    char runtime[PATH_MAX], problem[sizeof board_slots(b)->problem];
    if (program_problem(p, problem, sizeof problem))
        note_problem(b, slot, problem);
    if (access(shim, R_OK) != 0) {
        snprintf(problem, sizeof problem, "the shim %s cannot be read: build or install it", shim);
        note_problem(b, slot, problem);
    } else if (shim[strcspn(shim, ": ")]) {
        snprintf(problem, sizeof problem,
                 "the path of the shim, %s, has a blank or a colon, which LD_PRELOAD cannot hold: "
                 "move holdpoint to another folder",
                 shim);
        note_problem(b, slot, problem);
    }
    program_runtime(p, runtime, sizeof runtime);
    const char *of_component = getenv(PROGRAM_ENV_RUNTIME);
    if (!*runtime && of_component && !program_has_static_runtime(p))
        snprintf(runtime, sizeof runtime, "%s", of_component);
    unsetenv(PROGRAM_ENV_RUNTIME); /* it was for us: neither the program nor its children need it */
    surroundings_set_preload(runtime, shim);
}

static int become(struct board *b, int slot, char **argv) {
    struct program p;
    program_look(argv[0], &p);
    prepare_preload(b, slot, &p);
    int status = p.kind == PROGRAM_MISSING ? EXIT_MISSING : EXIT_NOT_RUNNABLE;
    if (p.kind != PROGRAM_MISSING && p.kind != PROGRAM_NOT_EXECUTABLE) {
        execvp(argv[0], argv); /* argv[0] stays what the user wrote */
        char problem[sizeof board_slots(b)->problem];
        snprintf(problem, sizeof problem, "%.150s could not be started: %s", p.path,
                 strerror(errno));
        note_problem(b, slot, problem);
    }
    slot_leave(b, slot, status);
    return status;
}

/* -1: said on stderr. */
static int32_t find_rank(const struct board *b) {
    const char *from;
    int32_t rank = surroundings_rank(&from);
    if (rank < 0 && b->n_ranks == 1)
        rank = 0;
    if (rank < 0 || (uint32_t)rank >= b->n_ranks) {
        if (rank < 0)
            fputs("holdpoint rank: no launcher told this process its rank: set HOLDPOINT_RANK\n",
                  stderr);
        else
            fprintf(stderr,
                    "holdpoint rank: %s says rank %d, but the trial has %u ranks: give "
                    "`--ranks` the number that the launcher starts\n",
                    from, rank, b->n_ranks);
        return -1;
    }
    return rank;
}

static int start(const char *board_path, char **argv) {
    struct board *b = slot_map_board(board_path);
    if (!b)
        return EXIT_CANNOT_TELL;
    int32_t rank = find_rank(b);
    if (rank < 0)
        return EXIT_CANNOT_TELL;
    int slot = slot_take(b, rank);
    if (slot < 0) {
        fprintf(stderr,
                "holdpoint rank: rank %d: all %u slots of the board are taken: more "
                "processes checked in than the trial's %u ranks allow\n",
                rank, b->n_slots, b->n_ranks);
        return EXIT_CANNOT_TELL;
    }
    char number[16];
    const char *dir = board_string(b, b->trial_dir); /* the board itself may lie elsewhere */
    if (!open_log(dir, rank, "out", STDOUT_FILENO) || !open_log(dir, rank, "err", STDERR_FILENO)) {
        slot_leave(b, slot, EXIT_CANNOT_TELL);
        return EXIT_CANNOT_TELL;
    }
    surroundings_apply_plan(b, rank);
    surroundings_set_sanitizers(dir, rank);
    snprintf(number, sizeof number, "%d", rank);
    setenv(BOARD_ENV_RANK, number, 1);
    snprintf(number, sizeof number, "%d", slot);
    setenv(BOARD_ENV_SLOT, number, 1);
    return become(b, slot, argv);
}

int main(int argc, char **argv) {
    int first = 1;
    if (argc > 1 && strcmp(argv[1], "--help") == 0) {
        fputs(usage, stdout);
        return 0;
    }
    if (argc > 1 && strcmp(argv[1], "--") == 0)
        first++;
    if (first >= argc || (first == 1 && argv[1][0] == '-')) {
        fputs(usage, stderr);
        return EXIT_USAGE;
    }
    const char *path = getenv(BOARD_ENV_PATH);
    if (!path || !*path) {
        fputs(
            "holdpoint rank: HOLDPOINT_BOARD is not set, so there is no trial to join: start this "
            "through `holdpoint run` or `holdpoint exec`, and let the launcher pass "
            "HOLDPOINT_BOARD "
            "on (mpirun: -x HOLDPOINT_BOARD)\n",
            stderr);
        return EXIT_CANNOT_TELL;
    }
    char absolute[PATH_MAX];
    if (!realpath(path, absolute)) {
        fprintf(stderr,
                "holdpoint rank: there is no board %s (%s): is the trial's folder on this "
                "node?\n",
                path, strerror(errno));
        return EXIT_CANNOT_TELL;
    }
    setenv(BOARD_ENV_PATH, absolute, 1);
    return start(absolute, argv + first);
}
