/* The options that `run` and `exec` share. */
#ifndef HOLDPOINT_OPTIONS_H
#define HOLDPOINT_OPTIONS_H

#include "complaints.h"
#include "trial.h"

struct options {
    char *variant, *plan, *workload, *component, *expect, *out, *sanitizer;
    int ranks, trials; /* 0: not given */
    bool launcher_given, keep, all, help;
    enum launcher launcher;
    uint64_t timeout_ns; /* 0: not given */
    uint64_t stall_ns;
    bool stall_given;
    double time_scale, gate; /* gate: its confidence, 0: not given */
    char **rest;             /* what is left of the arguments */
    int n_rest;
};

/* `accepted`: the option letters of options.c that this subcommand takes. False: complained. */
bool options_read(int argc, char **argv, const char *accepted, struct options *o,
                  struct complaints *c);

/* "5s", "300ms", "2m"; false: not a duration. */
bool options_duration(const char *text, uint64_t *ns);

#endif
