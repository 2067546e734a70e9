/* holdpoint: the command line. */
#include "commands.h"
#include "exit_status.h"
#include "version.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct {
    const char *name, *what;
    int (*run)(int, char **);
} command[] = {
    {"collect", "rebuild the findings of a trial from its folder", cmd_collect},
    {"doctor", "what this machine has and lacks, and what to do", cmd_doctor},
    {"exec", "run any program under a plan", cmd_exec},
    {"hooks", "what can be hooked, and in a given program by which way", cmd_hooks},
    {"plan", "check a plan", cmd_plan},
    {"rank", "start one rank (launchers use it)", cmd_rank},
    {"run", "run scenarios", cmd_run},
};
enum { N_COMMANDS = sizeof command / sizeof *command };

static void usage(FILE *to) {
    fputs("usage: holdpoint COMMAND [ARGUMENTS]\n"
          "Makes a race happen on demand in programs that nobody rebuilt, and names the bug.\n",
          to);
    for (int i = 0; i < N_COMMANDS; i++)
        fprintf(to, "  %-8s  %s\n", command[i].name, command[i].what);
    fputs("Each has its own --help. Exit: 0 as expected, 1 not as expected, 125 cannot tell, 129 "
          "usage.\n",
          to);
}

/* What is opened later must never become standard input, output or error, which the guard and the
 * ranks replace. */
static void open_standard_files(void) {
    int fd;
    do
        fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd > STDERR_FILENO)
        close(fd);
}

int main(int argc, char **argv) {
    open_standard_files();
    signal(SIGXFSZ, SIG_IGN); /* `ulimit -f`: the write that fails says where */
    if (argc < 2) {
        usage(stderr);
        return EXIT_USAGE;
    }
    if (!strcmp(argv[1], "--version")) {
        puts("holdpoint " HOLDPOINT_VERSION);
        return 0;
    }
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
        usage(stdout);
        return 0;
    }
    for (int i = 0; i < N_COMMANDS; i++)
        if (!strcmp(argv[1], command[i].name))
            return command[i].run(argc - 1, argv + 1);
    fprintf(stderr, "holdpoint: there is no command `%s`\n", argv[1]);
    usage(stderr);
    return EXIT_USAGE;
}
