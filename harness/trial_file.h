/* How a trial ended, as a file beside trial.json: so that `holdpoint collect DIR` judges a finished
 * trial exactly as the runner did. Absent when the runner died. */
#ifndef HOLDPOINT_TRIAL_FILE_H
#define HOLDPOINT_TRIAL_FILE_H

#include "trial.h"

/* DIR/ending.json. */
bool trial_save_ending(const struct trial *t, const struct ending *e, struct complaints *c);
/* False: there is none (the runner died), and `e` says that nothing is known; or it was damaged
 * (complained). */
bool trial_load_ending(const char *dir, struct ending *e, struct complaints *c);

#endif
