/* The gate's arithmetic against known values and against its own definition. */
#include "gate.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static int failed, checked;
static void check(bool ok, const char *what) {
    checked++;
    if (!ok)
        printf("  FAILED: %s\n", what);
    failed |= !ok;
}

/* Bounds: (1 - confidence)^(1/n) for n of n, 1 - confidence^(1/n) for 1 of n, else from a
 * bisection over exact binomial coefficients. */
static const struct {
    const char *what;
    double confidence;
    int reproduced, trials;
    double rate;
    long needed;
} cases[] = {
    {"20 of 20 at 0.99", 0.99, 20, 20, 0.7943282347, 3},
    {"10 of 20 at 0.99", 0.99, 10, 20, 0.2389596365, 17},
    {"10 of 20 at 0.95", 0.95, 10, 20, 0.3019537, 9},
    {"0 of 20", 0.99, 0, 20, 0, 0},
    {"no trial", 0.99, 0, 0, 0, 0},
    {"1 of 1 at 0.95", 0.95, 1, 1, 0.05, 59},
    {"1 of 20 at 0.95", 0.95, 1, 20, 0.0025613787, 1169},
    {"2 of 2 at 0.9999", 0.9999, 2, 2, 0.01, 917},
    {"all of very many: one trial is the least", 0.99, 100000, 100000, 0.9999539494, 1},
    {"1 of very many: more than can be run", 0.99, 1, 100000, 1.00503e-7, 45821073},
};

static void check_cases(void) {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gate g = gate_after(cases[i].confidence, cases[i].reproduced, cases[i].trials);
        bool near = fabs(g.rate_at_least - cases[i].rate) <= 1e-5 * cases[i].rate;
        bool same = labs(g.trials_needed - cases[i].needed) <= cases[i].needed / 100000;
        if (!near || !same)
            printf("  got %.10g and %ld\n", g.rate_at_least, g.trials_needed);
        check(near && same, cases[i].what);
    }
}

/* The number is the least that does: one fewer would leave the bug too good a chance to hide. */
static void check_least(void) {
    for (int n = 1; n <= 30; n++)
        for (int k = 1; k <= n; k++) {
            struct gate g = gate_after(0.99, k, n);
            double hides = log1p(-g.rate_at_least), may = log(0.01);
            check((double)g.trials_needed * hides <= may + 1e-9, "enough trials");
            check((double)(g.trials_needed - 1) * hides > may - 1e-9, "no more than enough");
            check(k == 1 || g.rate_at_least > gate_after(0.99, k - 1, n).rate_at_least,
                  "more reproduced, higher bound");
            check(g.rate_at_least < (double)k / n, "below what was seen");
        }
}

int main(void) {
    check_cases();
    check_least();
    printf("  %d checks of the gate's numbers\n", checked);
    return failed;
}
