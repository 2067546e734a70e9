/* The gate's arithmetic; see gate.h. Runs in the runner, and in its unit test. */
#include "gate.h"

#include <math.h>

/* The chance of `k` or more of `n`, each at rate `p`, k at least 1. By logarithms: a single term
 * may be too small for a double where their sum is not. */
static double tail(int k, int n, double p) {
    if (p <= 0)
        return 0;
    double sum = 0, all = lgamma(n + 1.0), yes = log(p), no = log1p(-p);
    for (int i = k; i <= n; i++)
        sum += exp(all - lgamma(i + 1.0) - lgamma(n - i + 1.0) + i * yes + (n - i) * no);
    return sum;
}

/* Clopper and Pearson's exact bound, one-sided: the rate at which so many or more would have come
 * with the chance 1 - confidence. Never above it: `low` is the side that is returned. */
static double lower_bound(double confidence, int k, int n) {
    double low = 0, high = 1;
    for (int i = 0; k > 0 && i < 60; i++) {
        double middle = (low + high) / 2;
        if (middle >= 1 || tail(k, n, middle) > 1 - confidence)
            high = middle;
        else
            low = middle;
    }
    return low;
}

struct gate gate_after(double confidence, int reproduced, int trials) {
    struct gate g = {.confidence = confidence,
                     .baseline_reproduced = reproduced,
                     .baseline_trials = trials,
                     .rate_at_least = lower_bound(confidence, reproduced, trials)};
    if (g.rate_at_least > 0)
        g.trials_needed = (long)ceil(log1p(-confidence) / log1p(-g.rate_at_least));
    return g;
}
