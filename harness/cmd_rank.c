/* `holdpoint rank COMMAND…`: becomes holdpoint-rank, which needs libc alone. */
#include "commands.h"
#include "exit_status.h"
#include "parts.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int cmd_rank(int argc, char **argv) {
    if (argc == 2 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) {
        puts("usage: holdpoint rank COMMAND…\n"
             "Starts COMMAND as one rank of the trial whose board HOLDPOINT_BOARD names, with the "
             "shim loaded into it.\n"
             "Launchers use it: holdpoint exec --plan FILE --ranks 32 -- mpirun -np 32 holdpoint "
             "rank ./app");
        return 0;
    }
    char *program = parts_find("holdpoint-rank");
    if (!program) {
        fputs("holdpoint: holdpoint-rank is missing beside this program: build it with `make`\n",
              stderr);
        return EXIT_CANNOT_TELL;
    }
    argv[0] = program;
    signal(SIGXFSZ, SIG_DFL); /* ignored by us alone */
    execv(program, argv);
    fprintf(stderr, "holdpoint: cannot start %s: %s\n", program, strerror(errno));
    free(program);
    return EXIT_CANNOT_TELL;
}
