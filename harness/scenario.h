/* scenario.yaml: component variants, workloads, plans and what each plan must bring out. */
#ifndef HOLDPOINT_SCENARIO_H
#define HOLDPOINT_SCENARIO_H

#include "trial.h"

struct scenario_variant { char *name, *find, *make, *sanitizer; int line; }; /* find: "open-mpi"; make: file to build, below the scenario's folder */
struct scenario_workload {
    char *name, *program; /* program and arguments, split like a shell without expansion; {component} is replaced */
    enum launcher launcher;
    int ranks[8], n_ranks;
    char *for_variant[16]; int n_for;
    struct { int rank; char *assignment; } env[32]; int n_env;
    uint64_t timeout_ns, timeout_per_rank_ns;
    struct outcome outcome[16]; int n_outcomes; /* the scenario's `outcome`, unless the workload or plan has its own */
    bool needs_mark;
    int line;
};
struct scenario_plan {
    char *name, *file, *workload; /* workload NULL: any that fits */
    struct { char *variant, *verdict; double rate; } expect[16]; int n_expect;
    char *signature;
    int ranks[8], n_ranks; /* overrides the workload's */
    struct outcome outcome[16]; int n_outcomes;
    bool in_default; /* part of plain `holdpoint run SCENARIO`; default true */
    int line;
};
struct scenario {
    char *dir, *file, *name, *title, *component_kind, *component_what;
    struct scenario_variant variant[16]; int n_variants;
    struct scenario_workload workload[16]; int n_workloads;
    struct scenario_plan plan[64]; int n_plans;
    int trials; uint64_t timeout_ns, stall_ns;
};
struct scenario *scenario_read(const char *dir, struct complaints *c);
void scenario_free(struct scenario *s);
/* Folder of a scenario by name (SCENARIO argument: a name under scenarios/ or a path); NULL: complained, nearest offered. */
char *scenario_find(const char *name_or_path, struct complaints *c);

#endif
