/* `holdpoint collect DIR`: rebuilds the findings and the verdict of a trial from what it left, also
 * when its runner died. Starts nothing and changes nothing in the trial's folder.
 */
#include "commands.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "allocate.h"
#include "collect.h"
#include "command_line.h"
#include "row.h"
#include "trial_file.h"

static const char help[] =
    "usage: holdpoint collect DIR [--out DIR]\n"
    "\n"
    "DIR is the folder of one trial (trials/NAME in a folder of results). Reads its board and "
    "logs, prints\n"
    "what was found and how far the plan came, and writes results.json.\n"
    "  --out DIR   where results.json goes (default: the trial's folder)\n"
    "exit status: 0 clean, 1 something was found, 125 cannot tell, 129 wrong usage\n";

static const char *text(const json_t *j, const char *key) {
    const char *value = json_string_value(json_object_get(j, key));
    return value ? value : "";
}

static void print_steps(const json_t *trial) {
    size_t i;
    const json_t *step;
    json_array_foreach(json_object_get(trial, "steps"), i, step) {
        printf("  step   %-8s %s", text(step, "state"), text(step, "text"));
        if (json_is_integer(json_object_get(step, "rank")))
            printf("  (rank %lld, thread %lld)", json_integer_value(json_object_get(step, "rank")),
                   json_integer_value(json_object_get(step, "tid")));
        printf("%s%s\n", *text(step, "detail") ? "  " : "", text(step, "detail"));
    }
}

static void print_faults(const json_t *trial) {
    size_t i;
    const json_t *fault;
    json_array_foreach(json_object_get(trial, "faults"), i, fault)
        printf("  fault  %lld times  %s\n", json_integer_value(json_object_get(fault, "fired")),
               text(fault, "text"));
}

static void print_stack(const json_t *stack) {
    size_t i;
    const json_t *frame;
    printf("    %s\n", text(stack, "role"));
    json_array_foreach(json_object_get(stack, "frames"), i, frame) {
        const char *module = text(frame, "module"), *function = text(frame, "function");
        printf("      #%zu %s%s%s  %s\n", i, basename(module), *module ? "!" : "",
               *function ? function : text(frame, "offset"), text(frame, "source"));
    }
}

static void print_findings(const json_t *trial) {
    size_t i, k;
    const json_t *finding, *stack;
    json_array_foreach(json_object_get(trial, "findings"), i, finding) {
        printf("  found  %s", text(finding, "signature"));
        if (json_is_integer(json_object_get(finding, "rank")))
            printf(", rank %lld", json_integer_value(json_object_get(finding, "rank")));
        printf(", by %s\n    %s\n", text(finding, "source"), text(finding, "text"));
        json_array_foreach(json_object_get(finding, "stacks"), k, stack) print_stack(stack);
    }
}

static void print_sentences(const json_t *trial, const char *key) {
    size_t i;
    const json_t *sentence;
    json_array_foreach(json_object_get(trial, key), i, sentence)
        printf("  %s  %s\n", key, json_string_value(sentence));
}

static void print_trial(const struct trial *t, const struct trial_result *r) {
    printf("%s: %s\n  %s\n", t->name, verdict_name(r->verdict), r->reason);
    print_steps(r->json);
    print_faults(r->json);
    print_findings(r->json);
    print_sentences(r->json, "errors");
    print_sentences(r->json, "missing");
}

static bool write_results(const struct trial *t, const struct trial_result *r, const char *out,
                          const char *again, int *status, struct complaints *c) {
    struct verdict_row row = {.scenario = "collect",
                              .variant = t->id,
                              .component = t->component_file,
                              .workload = t->argv ? t->argv[0] : NULL,
                              .plan = t->plan->name,
                              .launcher = launcher_name(t->launcher),
                              .ranks = t->ranks,
                              .again = again,
                              .plan_read = t->plan};
    AUTO_TEXT file = format_text("%s/results.json", out);
    if (!make_folder(out, c))
        return false;
    struct results *rs = results_new();
    *status = results_add(rs, &row, r, 1);
    bool ok = results_write(rs, file, c);
    results_free(rs);
    if (ok)
        printf("  wrote  %s\n", file);
    return ok;
}

static bool has_evidence(const char *dir) {
    AUTO_TEXT path = format_text("%s/evidence.txt", dir);
    return access(path, F_OK) == 0;
}

static int collect(const char *dir, const char *out) {
    struct complaints c = {0};
    struct ending end;
    struct known_list known = {NULL, 0};
    struct trial_result r;
    int status = EXIT_CANNOT_TELL;
    struct trial *t = trial_load(dir, &c);
    if (t && known_read(t->known_file, &known, &c)) {
        AUTO_TEXT again = copy_text("holdpoint collect");
        command_line_add(&again, dir);
        if (!trial_load_ending(dir, &end, &c)) /* evidence is taken before a trial is stopped */
            end.timed_out = has_evidence(dir);
        collect_trial(t, &end, &known, &r, &c);
        print_trial(t, &r);
        if (!write_results(t, &r, out ? out : dir, again, &status, &c))
            status = EXIT_CANNOT_TELL;
        trial_result_free(&r);
    }
    known_free(&known);
    trial_free(t);
    complaints_print(&c);
    complaints_clear(&c);
    return status;
}

static int usage(const char *mistake, const char *word) {
    fprintf(stderr, "holdpoint collect: %s%s\n%s", mistake, word, help);
    return EXIT_USAGE;
}

int cmd_collect(int argc, char **argv) {
    static const struct option options[] = {
        {"out", required_argument, NULL, 'o'}, {"help", no_argument, NULL, 'h'}, {0}};
    const char *out = NULL;
    struct stat st;
    optind = 0; /* another command line may have been read before */
    opterr = 0;
    for (int option; (option = getopt_long(argc, argv, ":ho:", options, NULL)) != -1;) {
        if (option == 'h') {
            fputs(help, stdout);
            return 0;
        }
        if (option != 'o')
            return usage(option == ':' ? "a value is missing after " : "unknown option ",
                         argv[optind - 1]);
        out = optarg;
    }
    if (argc - optind != 1)
        return usage("expected the folder of one trial", "");
    if (stat(argv[optind], &st) != 0 || !S_ISDIR(st.st_mode))
        return usage("there is no folder ", argv[optind]);
    return collect(argv[optind], out);
}
