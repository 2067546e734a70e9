/* Reading a board: is what is mapped a whole, undamaged one? Used by ranks and runner alike. */
#include "board.h"

#include <string.h>

uint64_t board_constant_sum(const struct board *b) {
    const unsigned char *from = (const unsigned char *)&b->plan_hash;
    const unsigned char *to = (const unsigned char *)b->strings + sizeof b->strings;
    _Static_assert(
        (offsetof(struct board, strings) + sizeof b->strings - offsetof(struct board, plan_hash)) %
                8 ==
            0,
        "the last bytes are summed too");
    /* Eight bytes at a time: the part is 128 KiB and every rank reads it once at start. */
    uint64_t sum = 0xcbf29ce484222325u;
    for (; from + 8 <= to; from += 8) {
        uint64_t word;
        memcpy(&word, from, 8);
        sum = (sum ^ word) * 0x100000001b3u;
    }
    return sum;
}

static uint64_t array_end(uint64_t at, uint64_t n, uint64_t size) {
    return at > (uint64_t)1 << 40 ? UINT64_MAX : at + n * size;
}

const char *board_problem(const void *mapped, size_t bytes) {
    const struct board *b = mapped;
    if (bytes < sizeof *b)
        return "it is shorter than a board's fixed part: truncated, or not a board";
    if (memcmp(b->magic, BOARD_MAGIC, sizeof BOARD_MAGIC) != 0)
        return "it does not begin with a board's magic bytes";
    if (b->version != BOARD_VERSION || b->header_bytes != sizeof *b || b->layout != BOARD_LAYOUT)
        return "it was written by another version of holdpoint";
    if (b->total_bytes != bytes)
        return "its length is not the length written in it: truncated";
    if (b->constant_sum != board_constant_sum(b))
        return "the checksum of its plan is wrong: damaged";
    if (b->n_hooks > BOARD_MAX_HOOKS || b->n_points > BOARD_MAX_POINTS ||
        b->n_filters > BOARD_MAX_FILTERS || b->n_steps > BOARD_MAX_STEPS ||
        b->n_claims > BOARD_MAX_CLAIMS || b->n_roles > BOARD_MAX_ROLES ||
        b->n_patterns > BOARD_MAX_PATTERNS || b->n_faults > BOARD_MAX_FAULTS ||
        b->n_env > BOARD_MAX_ENV || b->n_ranks > BOARD_MAX_RANKS || b->n_seqs > BOARD_MAX_RANKS ||
        b->n_slots >= BOARD_NONE ||
        array_end(b->at_ranks, b->n_ranks, sizeof(struct board_rank)) > bytes ||
        array_end(b->at_seqs, b->n_seqs, sizeof(struct board_seq)) > bytes ||
        array_end(b->at_slots, b->n_slots, sizeof(struct board_slot)) > bytes ||
        array_end(b->at_rings, b->n_rings, sizeof(struct board_ring)) > bytes ||
        array_end(b->at_threads, b->n_threads, sizeof(struct board_thread)) > bytes)
        return "a count in it is larger than its table: damaged";
    return NULL;
}

const char *board_lock_name(uint32_t kind) {
    static const char *const name[] = {
        [LOCK_MUTEX] = "mutex",
        [LOCK_RECURSIVE_MUTEX] = "recursive-mutex",
        [LOCK_ERROR_CHECKING_MUTEX] = "error-checking-mutex",
        [LOCK_ROBUST_MUTEX] = "robust-mutex",
        [LOCK_RWLOCK_READ] = "rwlock-read",
        [LOCK_RWLOCK_WRITE] = "rwlock-write",
        [LOCK_SPIN] = "spinlock",
        [LOCK_CONDITION] = "condition",
        [LOCK_JOIN] = "join",
    };
    return kind < sizeof name / sizeof *name ? name[kind] : "lock";
}
