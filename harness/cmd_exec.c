/* `holdpoint exec`: any program under any plan. */
#include "allocate.h"
#include "command_line.h"
#include "commands.h"
#include "options.h"
#include "row.h"

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

static int ranks_of_launch_line(char **command) {
    for (int i = 0; command[i] && command[i + 1]; i++)
        if (!strcmp(command[i], "-np") || !strcmp(command[i], "-n") || !strcmp(command[i], "--np"))
            return atoi(command[i + 1]);
    return 0;
}

static char *again_line(int argc, char **argv) {
    char *line = copy_text("holdpoint");
    for (int i = 0; i < argc; i++)
        command_line_add(&line, argv[i]);
    return line;
}

static int run(int argc, char **argv, struct options *o, struct complaints *c) {
    bool own_line = command_line_of_rank(o->rest) != NULL;
    enum launcher launcher = own_line ? LAUNCHER_USER : o->launcher;
    int ranks = o->ranks ? o->ranks : own_line ? ranks_of_launch_line(o->rest) : 1;
    if (ranks < 1 || ranks > BOARD_MAX_RANKS) {
        complain(
            c, NULL, 0, 0,
            "your launch line starts ranks through `holdpoint rank`, but how many? add --ranks N");
        return EXIT_USAGE;
    }
    if (verdict_closing_step(o->expect)) {
        complain(c, NULL, 0, 0,
                 "that a fix closes a window counts only beside the bug that it fixes: "
                 "`holdpoint run SCENARIO --component` with --expect '%s'",
                 o->expect);
        return EXIT_USAGE;
    }
    AUTO_TEXT line = again_line(argc, argv);
    struct known_list known = {0};
    struct row r = {
        .head = {.scenario = "exec",
                 .variant = "given",
                 .component = "",
                 .workload = basename(o->rest[0]),
                 .launcher = launcher_name(launcher),
                 .gpu = "none",
                 .ranks = ranks,
                 .expected = o->expect,
                 .rate = 1,
                 .again = line},
        .plan_file = o->plan,
        .known = &known,
        .argv = o->rest,
        .launcher = launcher,
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
    if (status != EXIT_USAGE && !results_write(rs, file, c) && status == 0)
        status = EXIT_CANNOT_TELL;
    results_free(rs);
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
    int status = c.count ? EXIT_USAGE : run(argc, argv, &o, &c);
    complaints_print(&c);
    complaints_clear(&c);
    return status;
}
