/* The kinds of findings, shared by shims (which write them on the board) and the collector. */
#ifndef HOLDPOINT_FINDING_KIND_H
#define HOLDPOINT_FINDING_KIND_H
enum finding_kind {
#define FINDING(id, name) FINDING_##id,
#include "finding_kinds.def"
#undef FINDING
    FINDING_COUNT
};
#endif
