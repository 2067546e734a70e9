/* `holdpoint exec`: any program under any plan. */
#include "commands.h"
#include "options.h"
#include "row.h"

#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void usage(FILE *to) {
    fputs("usage: holdpoint exec --plan FILE [options] -- COMMAND…\n"
          "Runs COMMAND under a plan. The command may be a launch line of your own that starts its "
          "ranks through\n"
          "`holdpoint rank`: holdpoint exec --plan FILE --ranks 32 -- mpirun -np 32 holdpoint rank "
          "./app\n"
          "  --plan FILE            the plan (see `holdpoint plan check`)\n"
          "  --ranks N              ranks to start, or that your launch line starts (default 1)\n"
          "  --launcher local|mpirun  how to start them (default local)\n"
          "  --trials N             how often (default 1)\n"
          "  --expect VERDICT       reproduced, clean, …: what counts as expected; without it: "
          "findings are exit 1\n"
          "  --sanitizer address|thread  must be active in every rank\n"
          "  --timeout T            limit of one trial (default 60s and 2s a rank)\n"
          "  --stall T              no thread ran and nothing moved for so long: a hang (default "
          "30s, 0s: off)\n"
          "  --time-scale X         stretches every hold, delay and limit\n"
          "  --out DIR              where results.json and the trials go (default reports/latest)\n"
          "  --keep                 keep the boards of all trials\n"
          "exit: 0 as expected or clean, 1 not as expected or findings, 125 cannot tell, 129 "
          "usage, 130 interrupted\n",
          to);
}

/* Does the command start its ranks itself, through `holdpoint rank` or holdpoint-rank? */
static bool is_launch_line(char **command) {
    for (int i = 0; command[i]; i++) {
        char *copy = strdup(command[i]), *file = basename(copy);
        bool yes =
            !strcmp(file, "holdpoint-rank") ||
            (!strcmp(file, "holdpoint") && command[i + 1] && !strcmp(command[i + 1], "rank"));
        free(copy);
        if (yes && i > 0)
            return true;
    }
    return false;
}

static int ranks_of_launch_line(char **command) {
    for (int i = 0; command[i] && command[i + 1]; i++)
        if (!strcmp(command[i], "-np") || !strcmp(command[i], "-n") || !strcmp(command[i], "--np"))
            return atoi(command[i + 1]);
    return 0;
}

static char *again(int argc, char **argv) {
    char *line = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&line, &size);
    fputs("holdpoint", f);
    for (int i = 0; i < argc; i++)
        fprintf(f, strpbrk(argv[i], " \"'$*;&|<>") ? " '%s'" : " %s", argv[i]);
    fclose(f);
    return line;
}

static int run(int argc, char **argv, struct options *o, struct complaints *c) {
    bool own_line = is_launch_line(o->rest);
    int ranks = o->ranks ? o->ranks : own_line ? ranks_of_launch_line(o->rest) : 1;
    if (ranks < 1 || ranks > BOARD_MAX_RANKS) {
        complain(
            c, NULL, 0, 0,
            "your launch line starts ranks through `holdpoint rank`, but how many? add --ranks N");
        return ROW_USAGE;
    }
    char *line = again(argc, argv), *copy = strdup(o->rest[0]);
    struct known_list known = {0};
    struct row r = {
        .head = {.scenario = "exec",
                 .variant = "given",
                 .component = "",
                 .workload = basename(copy),
                 .launcher = own_line                         ? "own"
                             : o->launcher == LAUNCHER_MPIRUN ? "mpirun"
                                                              : "local",
                 .gpu = "none",
                 .ranks = ranks,
                 .expected = o->expect,
                 .rate = 1,
                 .again = line},
        .plan_file = o->plan,
        .known = &known,
        .argv = o->rest,
        .launcher = own_line ? LAUNCHER_USER : o->launcher,
        .trials = o->trials ? o->trials : 1,
        .trials_given = o->trials > 0,
        .live = true,
        .keep = o->keep,
        .time_scale = o->time_scale,
        .limit_ns = o->timeout_ns ? o->timeout_ns : (60 + 2 * (uint64_t)ranks) * 1000000000u,
        .stall_ns = o->stall_given ? o->stall_ns : 30000000000u,
        .sanitizer = o->sanitizer,
        .out = o->out ? o->out : "reports/latest",
        .id = "exec",
    };
    struct results *rs = results_new();
    int status = row_run(&r, rs, c);
    char file[PATH_MAX];
    snprintf(file, sizeof file, "%s/results.json", r.out);
    if (status != ROW_USAGE && !results_write(rs, file, c) && status == 0)
        status = 125;
    results_free(rs);
    free(line);
    free(copy);
    return status;
}

int cmd_exec(int argc, char **argv) {
    struct complaints c = {0};
    struct options o;
    bool read = options_read(argc, argv, "pnlretsxokSh", &o, &c);
    if (o.help) {
        usage(stdout);
        return 0;
    }
    if (read && !o.plan)
        complain(&c, NULL, 0, 0, "which plan? give --plan FILE");
    if (read && !o.n_rest)
        complain(&c, NULL, 0, 0, "which command? give it after --");
    int status = c.count ? ROW_USAGE : run(argc, argv, &o, &c);
    complaints_print(&c);
    complaints_clear(&c);
    return status;
}
