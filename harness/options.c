/* Reading the options that `run` and `exec` share. */
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "collect.h"

bool options_duration(const char *text, uint64_t *ns) {
    static const struct {
        const char *unit;
        double ns;
    } unit[] = {{"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}};
    char *end;
    errno = 0;
    double value = strtod(text, &end);
    for (size_t i = 0; end != text && !errno && value >= 0 && i < sizeof unit / sizeof *unit; i++) {
        if (!strcmp(end, unit[i].unit) && value * unit[i].ns < 1e18) {
            *ns = (uint64_t)(value * unit[i].ns);
            return true;
        }
    }
    return false;
}

static bool whole_number(const char *text, long low, long high, int *value) {
    char *end;
    errno = 0;
    long n = strtol(text, &end, 10);
    if (errno || end == text || *end || n < low || n > high)
        return false;
    *value = (int)n;
    return true;
}

static bool read_launcher(const char *text, struct options *o) {
    o->launcher_given = true;
    o->launcher = !strcmp(text, "mpirun") ? LAUNCHER_MPIRUN : LAUNCHER_LOCAL;
    return !strcmp(text, "local") || !strcmp(text, "mpirun");
}

static bool known_verdict(const char *text) {
    return !strcmp(text, "reproduced") || !strcmp(text, "clean") ||
           !strcmp(text, "not-exercised") || !strcmp(text, "other-finding") ||
           verdict_closing_step(text);
}

/* One option's argument; what it had to be, when it is not. */
static const char *take(struct options *o, int letter, char *argument) {
    char *end;
    switch (letter) {
    case 'v':
        o->variant = argument;
        return NULL;
    case 'p':
        o->plan = argument;
        return NULL;
    case 'w':
        o->workload = argument;
        return NULL;
    case 'c':
        o->component = argument;
        return NULL;
    case 'o':
        o->out = argument;
        return NULL;
    case 'k':
        o->keep = true;
        return NULL;
    case 'a':
        o->all = true;
        return NULL;
    case 'h':
        o->help = true;
        return NULL;
    case 'e':
        o->expect = argument;
        return known_verdict(argument) ? NULL
                                       : "reproduced, clean, not-exercised, other-finding or "
                                         "'closed-by-fix: STEP'";
    case 'S':
        o->sanitizer = argument;
        return !strcmp(argument, "address") || !strcmp(argument, "thread") ? NULL
                                                                           : "address or thread";
    case 'n':
        return whole_number(argument, 1, BOARD_MAX_RANKS, &o->ranks)
                   ? NULL
                   : "a number of ranks, 1 to 1024";
    case 'r':
        return whole_number(argument, 1, 100000, &o->trials) ? NULL
                                                             : "a number of trials, 1 to 100000";
    case 'l':
        return read_launcher(argument, o) ? NULL : "local or mpirun";
    case 't':
        return options_duration(argument, &o->timeout_ns) && o->timeout_ns
                   ? NULL
                   : "a duration such as 60s";
    case 's':
        o->stall_given = true;
        return options_duration(argument, &o->stall_ns) ? NULL
                                                        : "a duration such as 30s, or 0s for none";
    case 'x':
        o->time_scale = strtod(argument, &end);
        return end != argument && !*end && o->time_scale >= 0.01 && o->time_scale <= 1000
                   ? NULL
                   : "a factor from 0.01 to 1000";
    case 'g':
        o->gate = strtod(argument, &end);
        return end != argument && !*end && o->gate > 0.5 && o->gate <= 0.9999
                   ? NULL
                   : "a confidence above 0.5 and at most 0.9999";
    default:
        return "known";
    }
}

bool options_read(int argc, char **argv, const char *accepted, struct options *o,
                  struct complaints *c) {
    static const struct option all[] = {{"variant", required_argument, NULL, 'v'},
                                        {"plan", required_argument, NULL, 'p'},
                                        {"workload", required_argument, NULL, 'w'},
                                        {"component", required_argument, NULL, 'c'},
                                        {"expect", required_argument, NULL, 'e'},
                                        {"ranks", required_argument, NULL, 'n'},
                                        {"trials", required_argument, NULL, 'r'},
                                        {"launcher", required_argument, NULL, 'l'},
                                        {"timeout", required_argument, NULL, 't'},
                                        {"stall", required_argument, NULL, 's'},
                                        {"time-scale", required_argument, NULL, 'x'},
                                        {"out", required_argument, NULL, 'o'},
                                        {"sanitizer", required_argument, NULL, 'S'},
                                        {"gate", required_argument, NULL, 'g'},
                                        {"keep", no_argument, NULL, 'k'},
                                        {"all", no_argument, NULL, 'a'},
                                        {"help", no_argument, NULL, 'h'},
                                        {NULL, 0, NULL, 0}};
    struct option mine[sizeof all / sizeof *all] = {{NULL, 0, NULL, 0}};
    size_t n = 0;
    for (size_t i = 0; all[i].name; i++)
        if (strchr(accepted, all[i].val))
            mine[n++] = all[i];
    *o = (struct options){.time_scale = 1};
    optind = 0; /* getopt_long may have run before in this process */
    opterr = 0;
    /* '+': stop at the first word that is no option, so that a COMMAND keeps its own. `run` takes
     * none: its scenarios may stand before the options. */
    const char *order = strchr(accepted, 'a') ? ":" : "+:";
    for (int letter; (letter = getopt_long(argc, argv, order, mine, NULL)) != -1;) {
        if (letter == '?' || letter == ':') {
            complain(c, NULL, 0, 0,
                     letter == ':' ? "%s needs a value; see `holdpoint %s --help`"
                                   : "%s is no option of this command; see `holdpoint %s --help`",
                     argv[optind - 1], argv[0]);
            continue;
        }
        const char *wanted = take(o, letter, optarg);
        if (wanted)
            complain(c, NULL, 0, 0, "`%s` is not %s (option %s)", optarg, wanted,
                     argv[optind - 1] == optarg ? argv[optind - 2] : argv[optind - 1]);
    }
    o->rest = argv + optind;
    o->n_rest = argc - optind;
    return c->count == 0;
}
