/* The board: the one shared file through which the runner and the ranks of a trial talk.
 * Layout only, plus readers that need no state. Written once by harness/board_create.c (the
 * constant part, the compiled plan) and then by everybody through atomics (the run-time part). May
 * not: contain pointers, be resized, or need a lock; any process may be killed at any time.
 *
 * Time is CLOCK_MONOTONIC in nanoseconds everywhere. A string is an offset into `strings`; 0 is "".
 */
#ifndef HOLDPOINT_BOARD_H
#define HOLDPOINT_BOARD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BOARD_MAGIC   "HOLDPNT"
#define BOARD_VERSION 1u
#define BOARD_NONE    0xffffu

enum {
    BOARD_MAX_HOOKS = 64,
    BOARD_MAX_POINTS = 64,
    BOARD_MAX_FILTERS = 128,
    BOARD_MAX_STEPS = 128,
    BOARD_MAX_CLAIMS = 64,
    BOARD_MAX_ROLES = 16,
    BOARD_MAX_FAULTS = 64,
    BOARD_MAX_PATTERNS = 64,
    BOARD_MAX_ENV = 128,
    BOARD_MAX_RANKS = 1024,
    BOARD_MAX_MODULES = 512,
    BOARD_MAX_FINDINGS = 128,
    BOARD_STRING_BYTES = 128 * 1024,
    BOARD_RING_RECORDS = 128,
    BOARD_MAX_FRAMES = 24,
    BOARD_MAX_STACKS = 4,
    BOARD_SLOTS_PER_RANK = 4, /* processes that may check in: this many per rank, and 16 more */
    BOARD_HELD_LOCKS = 64,    /* by one thread at a time */
    BOARD_LOCK_FRAMES = 8,
    BOARD_SIGNALLED = 8, /* conditions that a thread signalled and that are remembered */
    BOARD_DESTROYED_LOCKS = 256,
    BOARD_MOST_GUARDED_BYTES = 16 * 1024 * 1024, /* of one block */
};

/* Hooks, by the line of shims/hooks.def that describes them. */
enum hook_id {
#define HOOK(name, id, sides, traits, attrs, what, way, function) HOOK_##id,
#define ATTR(name, id, type, what)
#include "../../shims/hooks.def"
#undef HOOK
#undef ATTR
    HOOK_COUNT
};

/* Attributes of an event that a filter may look at. */
enum attr_id {
#define HOOK(name, id, sides, traits, attrs, what, way, function)
#define ATTR(name, id, type, what) ATTR_##id,
#include "../../shims/hooks.def"
#undef HOOK
#undef ATTR
    ATTR_COUNT
};
enum attr_type {
    ATTR_INT,
    ATTR_TEXT,
    ATTR_CODE
}; /* CODE: a function, matched by MODULE!FUNCTION */

enum side { SIDE_ENTER, SIDE_RETURN, SIDE_ASLEEP };
enum step_kind { STEP_REACH, STEP_PASS };
enum fault_action {
    FAULT_DELAY,
    FAULT_HOLD,
    FAULT_FAIL,
    FAULT_DROP,
    FAULT_REPEAT,
    FAULT_CRASH,
    FAULT_SIGNAL,
    FAULT_STOP,
    FAULT_SHORT, /* a read or a write moves fewer bytes than it could */
    FAULT_SEVER  /* a connection is cut at one byte of its stream */
};
enum detector {
    DETECT_ASAN = 1 << 0,
    DETECT_TSAN = 1 << 1,
    DETECT_FRAMES = 1 << 2,
    DETECT_LOCKS = 1 << 3,
    DETECT_DEADLOCK = 1 << 4,
    DETECT_HEAP = 1 << 5
};
enum follow_policy { FOLLOW_NONE, FOLLOW_CHILDREN, FOLLOW_PROGRAM };

/* Why a sequence ended before its last step was done. */
enum seq_end { SEQ_RUNNING, SEQ_TIMEOUT, SEQ_BLOCKED, SEQ_LOST };

enum slot_state {
    SLOT_FREE,
    SLOT_STARTED, /* holdpoint-rank wrote its process id and is about to exec the program */
    SLOT_ALIVE,   /* the shim checked in */
    SLOT_EXECING, /* the process is in exec; a new incarnation should check in */
    SLOT_EXITED,  /* ended by exit or return from main: exit_code is valid */
    SLOT_GONE,    /* the runner saw that the process is gone and had not said good-bye */
};

/* Bits of board.table_full: a table that was too small; always an `error`, never silent. */
enum board_table {
    TABLE_SLOTS = 1 << 0,
    TABLE_MODULES = 1 << 1,
    TABLE_FINDINGS = 1 << 2,
    TABLE_TRAMPOLINES = 1 << 3,
    TABLE_RETURN_PROBES = 1 << 4,
    TABLE_THREADS = 1 << 5,
    TABLE_CODE_RANGES = 1 << 6,
    TABLE_CALLBACKS = 1 << 7,
    TABLE_SLEEPERS = 1 << 8,
    TABLE_LOCKS = 1 << 9,
    TABLE_GUARDS = 1 << 10,
    TABLE_DESCRIPTORS = 1 << 11,
    TABLE_DESTRUCTORS = 1 << 12,
    TABLE_BRACKETS = 1 << 13,
    TABLE_GUARDED_STACKS = 1 << 14,
};

/* ---- the compiled plan: constant once the board is published ---- */

struct board_hook {
    uint16_t id;     /* enum hook_id */
    uint16_t object; /* of a call: 1 + the number of the argument that it is about, 0: none */
    /* Of call: and of its names; elsewhere "". */
    uint32_t module;   /* glob of the defining module's file name */
    uint32_t function; /* exported name */
    uint32_t from;     /* glob of the calling module's file name, or "" for all */
};

struct board_filter {
    uint16_t attr; /* enum attr_id */
    uint16_t pad;
    uint32_t text; /* TEXT and CODE: glob */
    int64_t number;
};

struct board_point {
    uint32_t name;
    uint16_t hook; /* index into hooks */
    uint8_t side;
    uint8_t is_gate;
    int32_t rank;           /* -1: any */
    uint16_t role;          /* BOARD_NONE: none */
    uint16_t within;        /* point index or BOARD_NONE */
    uint32_t nth;           /* 0: every arrival */
    uint32_t caller;        /* MODULE!FUNCTION glob or "" */
    uint32_t stack;         /* the same, of any of the innermost callers */
    uint16_t object_of;     /* point whose last arrival was about the same object, or BOARD_NONE */
    uint8_t object_differs; /* ... was about another object */
    uint8_t pad;
    uint8_t crowd_hold;
    uint8_t same;
    uint8_t in_fault; /* named by a fault as `at` or `until`: never disarmed by steps */
    uint8_t in_steps;
    int32_t arm_after;              /* armed once this step (index) is done; -1: from the start */
    int32_t disarm_after;           /* disarmed once this step is done; meaningless when in_fault */
    uint16_t first_claim, n_claims; /* one claim a pass, in order */
    uint16_t first_filter, n_filters;
};

struct board_step {
    uint16_t kind, point;
    uint16_t claim; /* gate: index of the claim this step is about; mark: BOARD_NONE */
    uint16_t line;  /* of the plan file */
    uint32_t text;  /* "reach at_exit" */
};

struct board_claim_plan {
    uint16_t point;
    uint16_t pass_step; /* the claim is released when this step is done */
    uint16_t previous;  /* claim of the same point that must be passed first; BOARD_NONE: none */
    uint16_t pad;
};

struct board_role {
    uint32_t name;
    uint16_t point;       /* an unnamed point that holds `at` with its filters */
    uint16_t counts_with; /* the first role with the same `at`, `nth` left aside: an arrival has the
                             same number for both */
};

struct board_fault {
    uint16_t point;
    uint8_t action;        /* enum fault_action */
    uint8_t return_is_arg; /* FAIL: return argument number `ret` of the call */
    int32_t rank;          /* -1: any */
    int64_t ret;
    int32_t error_number; /* FAIL: errno to set, 0: leave */
    int32_t signal_number;
    uint64_t ns;    /* DELAY, HOLD: duration (scaled); 0 with `until` means the plan's timeout */
    uint16_t until; /* HOLD: point index or BOARD_NONE */
    uint16_t times; /* REPEAT: how often in all */
    uint32_t nth, every, from, to; /* 0: unset. Counted per process over arrivals that match */
    uint32_t prob_ppm;             /* 0: always */
    uint32_t bytes;                /* SHORT: so many at most; SEVER: after so many */
    uint32_t line;
    uint64_t seed;
    uint32_t text; /* one line for people: "fail init_step rank 0 return -1" */
};

struct board_env {
    int32_t rank;
    uint32_t assignment;
}; /* "KEY=VALUE" for one rank, or -1 for all */

/* ---- the run-time part ---- */

/* A thread, in one word: slot index + 1 (16 bits), incarnation (16 bits), thread id (32 bits). 0:
 * nobody. */
typedef uint64_t board_party;
static inline board_party board_party_make(uint16_t slot, uint16_t incarnation, uint32_t tid) {
    return ((uint64_t)(slot + 1u) << 48) | ((uint64_t)incarnation << 32) | tid;
}
static inline uint16_t board_party_slot(board_party p) {
    return (uint16_t)((p >> 48) - 1u);
}
static inline uint16_t board_party_incarnation(board_party p) {
    return (uint16_t)(p >> 32);
}
static inline uint32_t board_party_tid(board_party p) {
    return (uint32_t)p;
}

struct board_frame {
    uint32_t module;
    uint32_t pad;
    uint64_t offset;
}; /* module BOARD_NONE: raw address */

struct board_claim {
    _Atomic board_party owner; /* set once */
    _Atomic uint32_t standing; /* 1: the claimant is held at the point; 2: it has gone on */
    uint32_t arrival;          /* which matching arrival in its process it was */
    _Atomic uint64_t since_ns;
};

/* Who completed a step; written by the one thread that moved `state` past it. */
struct board_step_done {
    _Atomic uint64_t ns; /* written last; 0: not done */
    board_party party;
    uint32_t arrival;
};

struct board_point_count {
    _Atomic uint32_t arrivals;   /* that matched every filter while armed, nth left aside */
    _Atomic uint32_t early;      /* mark arrivals before their turn */
    _Atomic uint32_t bystanders; /* that went through while somebody else held the claim */
    _Atomic uint32_t in_handler; /* inside a signal handler: counted, never held */
};

/* What kept a sequence from going on, when its end is SEQ_BLOCKED. Written by the runner before
 * that. */
struct board_blocked {
    board_party waiter, owner; /* 0: the sequence is not blocked */
    uint64_t address;
    uint32_t kind;   /* enum lock_kind that the waiter asks for */
    uint32_t others; /* threads between the one that the step needs and the waiter */
    uint16_t point;  /* where the owner stands, held */
    uint16_t n_waiter, n_owner, n_acquired;
    struct board_frame waiter_at[BOARD_MAX_FRAMES], owner_at[BOARD_MAX_FRAMES];
    struct board_frame acquired[BOARD_LOCK_FRAMES]; /* the owner's stack when it took the lock */
};

struct board_seq {
    _Atomic uint64_t state; /* low 32 bits: index of the next step; high 32: enum seq_end */
    _Atomic uint32_t epoch; /* futex: changes whenever anything a waiter could wait for changed */
    int32_t rank;           /* scope rank: whose sequence; scope job: -1 */
    _Atomic uint64_t progress_ns; /* last step done */
    _Atomic uint64_t ended_ns;
    char detail[240];                       /* one sentence: what was lost, who blocked whom */
    _Atomic uint64_t role[BOARD_MAX_ROLES]; /* board_party; ROLE_GONE once its thread ended */
    struct board_blocked blocked;
    struct board_claim claim[BOARD_MAX_CLAIMS];
    struct board_step_done done[BOARD_MAX_STEPS];
    struct board_point_count point[BOARD_MAX_POINTS];
};
#define BOARD_ROLE_GONE UINT64_MAX
static inline uint32_t board_seq_next(uint64_t state) {
    return (uint32_t)state;
}
static inline enum seq_end board_seq_end(uint64_t state) {
    return (enum seq_end)(state >> 32);
}

/* Per rank, summed over its processes. */
struct board_rank {
    _Atomic uint32_t reached[BOARD_MAX_POINTS]; /* arrivals that `until` looks at */
};

struct board_fault_count {
    _Atomic uint32_t arrivals; /* at the fault's point and rank, all processes */
    _Atomic uint32_t fired;
    _Atomic uint32_t released;  /* HOLD: ended because `until` was reached, or after its own `ns` */
    _Atomic uint32_t timed_out; /* HOLD: ended by the plan's timeout or because the trial ends */
    _Atomic board_party party;  /* first firing */
    int32_t rank;
    uint32_t arrival;
    _Atomic uint64_t ns;
};

/* What a MODULE!FUNCTION came to, over all processes and modules. */
struct board_pattern_count {
    _Atomic uint32_t wanted;    /* by so many processes */
    _Atomic uint32_t modules;   /* that match */
    _Atomic uint32_t functions; /* of them that match */
    _Atomic uint32_t stripped;  /* 1 + a module that has no symbols but those it exports; 0: none */
};

/* One process that checked in (or was started by holdpoint-rank). */
struct board_slot {
    _Atomic uint32_t state; /* enum slot_state */
    int32_t rank;
    uint32_t node;
    _Atomic uint32_t pid;
    _Atomic uint32_t incarnation; /* + 1 at every check-in of this process: exec counts */
    _Atomic uint32_t execs; /* programs that this process went on to; each has to check in again */
    uint32_t is_follower;   /* a descendant that `follow` let in */
    _Atomic uint64_t started_ns, checked_in_ns, ended_ns;
    _Atomic int32_t exit_code;
    _Atomic uint64_t
        plan_signals; /* bit per signal that a fault (crash, signal, stop) raised here */
    _Atomic uint32_t live_detectors; /* enum detector bits whose live test passed in this process */
    _Atomic uint32_t threads_seen;
    _Atomic uint64_t heartbeat;                    /* arrivals of any kind; a count, not a time */
    _Atomic uint32_t promised, delivered, dropped; /* completions taken over from a library */
    _Atomic uint32_t heap_slots;     /* relocation slots through which a guarded module allocates */
    _Atomic uint64_t guarded;        /* allocations that detector `heap` guarded */
    _Atomic uint64_t stacks_guarded; /* calls that ran on a stack of their own for `frames` */
    _Atomic uint64_t modules[BOARD_MAX_MODULES / 64]; /* bit per module ever mapped */
    _Atomic uint16_t bound[BOARD_MAX_HOOKS]; /* call: relocation slots patched; other hooks: 1 */
    char program[256];                       /* /proc/self/exe at check-in */
    char problem[240]; /* the shim's own complaint, one sentence; "" when all is well */
};

/* A thread inside a call with a `side: asleep` point: the runner watches whether it sleeps. */
struct board_sleeper {
    _Atomic board_party party; /* 0: free */
    _Atomic uint32_t inside;   /* odd while the thread is in the original call, not held by us */
    uint16_t point;
    uint16_t seq;
    uint32_t arrival;
};
enum { BOARD_MAX_SLEEPERS = 64 };

struct board_module {
    _Atomic uint32_t state; /* 0 free, 1 being written, 2 complete */
    uint32_t build_id_bytes;
    unsigned char build_id[32];
    char path[232];
};

/* ---- the lock table: every thread that owns or waits for something, as that thread writes it ----
 */

enum lock_kind {
    LOCK_MUTEX,
    LOCK_RECURSIVE_MUTEX,
    LOCK_ERROR_CHECKING_MUTEX,
    LOCK_ROBUST_MUTEX,
    LOCK_RWLOCK_READ,
    LOCK_RWLOCK_WRITE,
    LOCK_SPIN,
    LOCK_CONDITION,
    LOCK_JOIN, /* the end of a thread */
};
/* "mutex", "rwlock-read", …: as people and the attribute `kind` see it. */
const char *board_lock_name(uint32_t kind);

struct board_held {
    _Atomic uint64_t address; /* 0: free; written last */
    uint32_t kind, depth;
    _Atomic uint32_t freed; /* 1: its memory was freed since */
    uint32_t pad;
    uint64_t pc[BOARD_LOCK_FRAMES]; /* stack of the acquisition, 0 after its last frame */
};

struct board_wait {
    _Atomic uint64_t number;  /* of this thread's waits: the same number later is the same wait */
    _Atomic uint64_t address; /* lock, condition variable, pthread_t; 0: it does not wait */
    uint64_t mutex;           /* condition variable: the mutex that comes back with it */
    uint32_t kind, timed; /* enum lock_kind; 1: it gives up by itself, or another process ends it */
    uint64_t since_ns;
};

struct board_thread {
    _Atomic board_party party; /* 0: free */
    uint64_t self;             /* its pthread_t */
    struct board_wait wait;
    _Atomic uint32_t n_used;      /* of `held`: none behind was ever taken */
    _Atomic uint32_t n_forgotten; /* conditions that had to leave `signalled` for newer ones */
    _Atomic uint64_t signalled[BOARD_SIGNALLED]; /* addresses of conditions; 0: free */
    struct board_held held[BOARD_HELD_LOCKS];
};

/* The last lock that was destroyed at an address; a later one with the same hash takes its place.
 */
struct board_destroyed {
    _Atomic uint64_t address; /* 0: none; written last */
    board_party party;
    uint32_t kind, pad;
    uint64_t pc[BOARD_LOCK_FRAMES];
};

/* The use of the freed thing, its free and so on: what a stack in a finding shows. */
enum stack_role {
    STACK_USE,
    STACK_FREE,
    STACK_ALLOC,
    STACK_INITIATOR,
    STACK_DEAD_FRAME,
    STACK_CALLBACK,
    STACK_ACQUISITION, /* of the lock */
    STACK_DESTROY,
    STACK_PREVIOUS /* of the other thread */
};

struct board_finding {
    _Atomic uint32_t state; /* 0 free, 1 being written, 2 complete */
    uint32_t kind;          /* enum finding_kind, finding.h */
    uint32_t node;
    int32_t rank;
    uint32_t pid, tid;
    uint64_t ns;
    uint64_t address;
    uint32_t steps_done;   /* of the job's or the rank's sequence, when it was found */
    uint32_t faults_fired; /* in all, when it was found */
    uint32_t suspect;      /* 1: conservative evidence only, never decides a verdict */
    uint32_t healed;
    uint32_t n_stacks;
    uint32_t pad;
    struct {
        uint32_t role, n;
        struct board_frame frame[BOARD_MAX_FRAMES];
    } stack[BOARD_MAX_STACKS];
    char note[320]; /* the evidence, in a sentence or two */
};

enum event_kind {
    EVENT_ARRIVAL,
    EVENT_CLAIM,
    EVENT_RELEASE,
    EVENT_STEP,
    EVENT_FAULT,
    EVENT_FAULT_END,
    EVENT_ROLE,
    EVENT_CHECK_IN,
    EVENT_EXIT,
    EVENT_THREAD_START,
    EVENT_THREAD_END,
    EVENT_PROMISED,
    EVENT_DELIVERED,
    EVENT_FRAME_DEAD,
    EVENT_BYSTANDER
};
struct board_event {
    _Atomic uint64_t number; /* position in its ring + 1, written last */
    uint64_t ns;
    uint16_t kind, point, step, fault;
    uint32_t node;
    int32_t rank;
    uint32_t pid, tid;
    uint64_t value[2];
};
struct board_ring {              /* one writer at a time */
    _Atomic uint32_t writer_tid; /* 0: free for the next thread */
    uint32_t pad;
    _Atomic uint64_t head; /* records ever written; more than BOARD_RING_RECORDS: wrapped */
    struct board_event record[BOARD_RING_RECORDS];
};

enum board_phase {
    PHASE_PREPARING,
    PHASE_RUNNING,
    PHASE_STOPPING
}; /* STOPPING: every hold ends at once */

struct board {
    char magic[8];
    uint32_t version, header_bytes; /* sizeof(struct board) */
    uint64_t total_bytes;
    uint64_t layout;       /* BOARD_LAYOUT: sizes of what lies on the board */
    uint64_t constant_sum; /* FNV-1a over the constant part, see board_constant_sum */

    /* constant */
    uint64_t plan_hash; /* FNV-1a 64 of the plan file's bytes */
    uint32_t node, n_ranks, n_slots, n_seqs, n_rings, n_threads; /* n_threads 0: no lock table */
    uint32_t n_hooks, n_points, n_filters, n_steps, n_claims, n_roles, n_faults, n_env;
    uint32_t heal;                /* 1: a completion whose owner is dead is dropped */
    uint32_t scope_rank;          /* 1: one sequence a rank */
    uint32_t detectors;           /* enum detector bits that were asked for */
    uint32_t track_locks;         /* 1: the plan needs the lock table */
    uint32_t guarded_point;       /* whose call runs on a guarded stack, or BOARD_NONE */
    uint32_t heap_from;           /* glob of the module whose allocations are guarded */
    uint64_t heap_low, heap_high; /* in bytes, both inclusive */
    uint32_t follow;              /* enum follow_policy */
    uint32_t follow_program;      /* glob of the program's file name */
    uint32_t plan_name, trial_name, trial_dir, shim_path;
    uint32_t string_bytes;                                      /* used */
    uint64_t timeout_ns;                                        /* of a hold, scaled */
    uint64_t at_ranks, at_seqs, at_slots, at_rings, at_threads; /* offsets from the board's start */
    struct board_hook hook[BOARD_MAX_HOOKS];
    struct board_point point[BOARD_MAX_POINTS];
    struct board_filter filter[BOARD_MAX_FILTERS];
    struct board_step step[BOARD_MAX_STEPS];
    struct board_claim_plan claim[BOARD_MAX_CLAIMS];
    struct board_role role[BOARD_MAX_ROLES];
    struct board_fault fault[BOARD_MAX_FAULTS];
    struct board_env env[BOARD_MAX_ENV];
    uint32_t pad, n_patterns;
    uint32_t pattern[BOARD_MAX_PATTERNS]; /* MODULE!FUNCTION of any point, once each */
    char strings[BOARD_STRING_BYTES];

    /* run time */
    _Atomic uint32_t phase;
    _Atomic uint32_t table_full; /* enum board_table bits */
    _Atomic uint64_t faults_fired;
    struct board_fault_count fault_count[BOARD_MAX_FAULTS];
    struct board_pattern_count pattern_count[BOARD_MAX_PATTERNS];
    struct board_sleeper sleeper[BOARD_MAX_SLEEPERS];
    struct board_module module[BOARD_MAX_MODULES];
    struct board_finding finding[BOARD_MAX_FINDINGS];
    struct board_destroyed destroyed[BOARD_DESTROYED_LOCKS];
    /* then: struct board_rank[n_ranks], board_seq[n_seqs], board_slot[n_slots],
     * board_ring[n_rings], board_thread[n_threads] */
};

/* Two builds that disagree about a structure must not share a board. */
#define BOARD_LAYOUT                                                                               \
    ((uint64_t)sizeof(struct board) * 31 + sizeof(struct board_rank) * 37 +                        \
     sizeof(struct board_seq) * 41 + sizeof(struct board_slot) * 43 +                              \
     sizeof(struct board_ring) * 47 + sizeof(struct board_finding) * 53 +                          \
     sizeof(struct board_thread) * 59)

static inline struct board_rank *board_ranks(const struct board *b) {
    return (struct board_rank *)((char *)(uintptr_t)b + b->at_ranks);
}
static inline struct board_seq *board_seqs(const struct board *b) {
    return (struct board_seq *)((char *)(uintptr_t)b + b->at_seqs);
}
static inline struct board_slot *board_slots(const struct board *b) {
    return (struct board_slot *)((char *)(uintptr_t)b + b->at_slots);
}
static inline struct board_ring *board_rings(const struct board *b) {
    return (struct board_ring *)((char *)(uintptr_t)b + b->at_rings);
}
static inline struct board_thread *board_threads(const struct board *b) {
    return (struct board_thread *)((char *)(uintptr_t)b + b->at_threads);
}
static inline const char *board_string(const struct board *b, uint32_t at) {
    return at < BOARD_STRING_BYTES ? b->strings + at : "";
}

/* Copies as much of the text as fits, always ended. */
static inline void board_copy_text(char *to, size_t room, const char *text) {
    size_t i = 0;
    for (; i + 1 < room && text[i]; i++)
        to[i] = text[i];
    to[i] = '\0';
}

/* FNV-1a over everything from plan_hash to the end of strings. */
uint64_t board_constant_sum(const struct board *b);

/* NULL when the mapped bytes are a whole, undamaged board of this version; otherwise what is wrong.
 */
const char *board_problem(const void *mapped, size_t bytes);

/* Environment through which a rank finds its board. */
#define BOARD_ENV_PATH "HOLDPOINT_BOARD"
#define BOARD_ENV_RANK "HOLDPOINT_RANK"
#define BOARD_ENV_SLOT "HOLDPOINT_SLOT" /* set by holdpoint-rank: the slot of this process */

#endif
