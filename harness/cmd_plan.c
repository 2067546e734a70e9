/* `holdpoint plan check FILE`: names the line and the mistake, or shows what the plan was
 * understood to be. Starts nothing. */
#include "commands.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exit_status.h"
#include "hook_names.h"
#include "plan.h"

static const char help[] =
    "usage: holdpoint plan check FILE [--ranks N] [--program P]\n"
    "\n"
    "Reads a plan and says what is wrong with it, each with its line, or what it means.\n"
    "  --ranks N     the job will have N ranks: ranks out of range and gates on many ranks are "
    "refused\n"
    "  --program P   the program that will run: callers that it cannot have are refused, "
    "functions\n"
    "                that it does not have are warned about\n"
    "exit status: 0 the plan is good, 129 it is refused or the usage is wrong\n";

enum kind { GATE, MARK, OTHER };

static enum kind kind_of(const struct plan *p, int point) {
    enum kind kind = OTHER;
    for (int s = 0; s < p->n_steps; s++)
        if (p->step[s].point == point && kind != GATE)
            kind = p->step[s].kind == STEP_PASS ? GATE : MARK;
    return kind;
}

static void show_point(const struct plan *p, int i) {
    static const char *const name[] = {"gate", "mark", "point"};
    const struct plan_point *point = &p->point[i];
    bool is_call = point->hook == HOOK_CALL;
    printf("  %-5s  %s: %s%s%s%s, side %s", name[kind_of(p, i)], point->name,
           hook_names[point->hook].name, is_call && point->module ? point->module : "",
           is_call && point->module ? "!" : "", is_call && point->function ? point->function : "",
           side_name(point->side));
    if (point->rank >= 0)
        printf(", rank %d", point->rank);
    if (point->role >= 0)
        printf(", role %s", p->role[point->role].name);
    if (point->within >= 0)
        printf(", within %s", plan_outer_name(&p->point[point->within]));
    if (point->nth)
        printf(", nth %u", point->nth);
    if (point->after)
        printf(", after %s", point->after);
    putchar('\n');
}

static void show(const struct plan *p) {
    int count[] = {0, 0, 0};
    for (int i = 0; i < p->n_points; i++)
        count[kind_of(p, i)]++;
    printf("%s: good: steps %d, points %d (gates %d, marks %d), roles %d, faults %d\n", p->name,
           p->n_steps, p->n_points - p->n_roles, count[GATE], count[MARK], p->n_roles, p->n_faults);
    for (int i = 0; i < p->n_points; i++)
        show_point(p, i);
    for (int i = 0; i < p->n_faults; i++)
        printf("  fault  %s\n", p->fault[i].text);
    if (p->frames.guard >= 0)
        printf("  frames the call at %s runs on a guarded stack\n", p->point[p->frames.guard].name);
    if (p->heap.from)
        printf("  heap   allocations of %s, %llu to %llu bytes\n", p->heap.from,
               (unsigned long long)p->heap.low, (unsigned long long)p->heap.high);
    if (p->sweep.kind == SWEEP_OVER)
        printf("  sweep  %s over %d functions, one run each\n", p->point[p->sweep.point].name,
               p->sweep.n_functions);
    if (p->sweep.kind == SWEEP_NTH || p->sweep.kind == SWEEP_BYTE)
        printf("  sweep  one run for each %s, until the fault no longer fires, at most %d\n",
               p->sweep.kind == SWEEP_NTH ? "arrival" : "byte of the stream", SWEEP_MOST_RUNS);
}

static int check(const char *file, int n_ranks, const char *program) {
    struct complaints c = {0};
    struct plan *p = plan_read(file, &c);
    bool good = p && plan_check(p, n_ranks, program, &c);
    if (good && program)
        plan_doubts(p, program, &c);
    complaints_print(&c);
    complaints_clear(&c);
    if (good)
        show(p);
    plan_free(p);
    return good ? 0 : EXIT_USAGE;
}

static int usage(const char *mistake, const char *word) {
    fprintf(stderr, "holdpoint plan: %s%s\n%s", mistake, word, help);
    return EXIT_USAGE;
}

int cmd_plan(int argc, char **argv) {
    static const struct option options[] = {{"ranks", required_argument, NULL, 'r'},
                                            {"program", required_argument, NULL, 'p'},
                                            {"help", no_argument, NULL, 'h'},
                                            {0}};
    const char *program = NULL;
    long ranks = 0;
    char *end;
    optind = 0; /* another command line may have been read before */
    opterr = 0;
    for (int option; (option = getopt_long(argc, argv, ":h", options, NULL)) != -1;) {
        switch (option) {
        case 'h':
            fputs(help, stdout);
            return 0;
        case 'p':
            program = optarg;
            break;
        case 'r':
            ranks = strtol(optarg, &end, 10);
            if (*end || end == optarg || ranks < 1 || ranks > BOARD_MAX_RANKS)
                return usage("--ranks needs a number from 1 to 1024, not ", optarg);
            break;
        default:
            return usage(option == ':' ? "a value is missing after " : "unknown option ",
                         argv[optind - 1]);
        }
    }
    if (argc - optind != 2 || strcmp(argv[optind], "check") != 0)
        return usage("expected `check` and one FILE", "");
    return check(argv[optind + 1], (int)ranks, program);
}
