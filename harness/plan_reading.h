/* What the files that read a plan file share; the context of their trees is the plan. */
#ifndef HOLDPOINT_PLAN_READING_H
#define HOLDPOINT_PLAN_READING_H

#include "yaml_tree.h"

tree_reader plan_point_name;  /* int *: index of the point */
tree_reader plan_read_faults; /* struct plan * */
tree_reader plan_read_sweep;  /* struct plan_sweep *, of that plan */

#endif
