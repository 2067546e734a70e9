/* Detector `frames`: a callback about to write into a stack frame that has returned. Watches the
 * frame that owns the callback's data by a return probe: exact, needs no symbols. Where the plan
 * has a call run on a guarded stack, a load from its dead frames, or a store there, is caught at
 * its instruction, whoever makes it. Source: facts/ompi-fence.md 6 (stack pointers alone miss the
 * harmful case) and 8. */
#ifndef HOLDPOINT_FRAMES_H
#define HOLDPOINT_FRAMES_H

#include "board.h"

enum { FRAMES_CANDIDATES = 4 };

/* Where a callback's data points into the stack of the thread that registered it. */
struct frames_target {
    uintptr_t address; /* in the frame */
    bool direct;       /* the data pointer itself; otherwise found by a scan of what it points to */
    uint32_t offset;   /* scan: where in the data */
    const void *owner_code;
    const void *owner_returns_to;
    bool probed;
    _Atomic uint32_t dead; /* the owner has returned */
};

struct frames_watch {
    uint32_t tid; /* of the registering thread */
    uint32_t n;
    struct frames_target target[FRAMES_CANDIDATES];
    uint32_t n_initiator;
    struct board_frame initiator[BOARD_MAX_FRAMES];
};

/* Called in the registering call, on the registering thread. Never frees or keeps `data`. */
void frames_register(struct frames_watch *w, const void *data);
/* What kind of data it is: "stack", "heap-with-stack-pointer" or "other". */
const char *frames_data_kind(const struct frames_watch *w);

/* Around the callback, on the thread that runs it. `code`: the callback. A finding is reported by
 * frames_after when the data itself lies in a dead frame, or when the callback was seen to write
 * into one. */
struct guarded_stack;
struct frames_evidence {
    const void *code; /* the callback */
    bool dead[FRAMES_CANDIDATES];
    struct guarded_stack *stack[FRAMES_CANDIDATES]; /* of a dead one, or NULL */
    bool caught[FRAMES_CANDIDATES];                 /* by its closed stack, and reported */
    bool read[FRAMES_CANDIDATES]; /* `before` holds what lay there, the registering thread asleep */
    unsigned char before[FRAMES_CANDIDATES][16];
    uint64_t switches; /* of the registering thread, asleep: it did not run meanwhile */
    struct frames_watch *outer_watched; /* of a callback that this one interrupted */
    struct frames_evidence *outer_evidence;
};
void frames_before(struct frames_watch *w, struct frames_evidence *e, const void *code);
void frames_after(struct frames_watch *w, struct frames_evidence *e);

/* Has an owner of the data returned? */
bool frames_owner_is_dead(const struct frames_watch *w);
/* The callback is dropped, since an owner of its data is dead: says so in a finding marked as
 * healed. */
void frames_healed(struct frames_watch *w, const void *code);

/* The live test: a private frame is registered, returns, and must be seen dead. */
bool frames_self_test(void);

#endif
