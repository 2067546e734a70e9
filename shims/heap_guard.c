/* Guarded blocks: a table of equal places in one reserved range, each some pages and a closed one
 * behind them. On any thread, also in signal handlers and in the handler of a fault. */
#include "heap_guard.h"
#include "arch/x86_64/arch.h"
#include "fault_signals.h"
#include "findings.h"
#include "process.h"
#include "quarantine.h"
#include "thread.h"
#include "unwind_stack.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

enum {
    PAGE = 4096,
    /* A live block has two mappings, and the kernel allows a process 65530 (vm.max_map_count). */
    MOST_BLOCKS = 20480,
    MOST_LIVE = 16384, /* the rest is for the quarantine */
    FRAMES = 16,
    SLACK = 0xfb, /* between the end of a block and the closed page */
    RETRIES = 3,
};
#define MOST_BYTES       ((size_t)1 << 30) /* of all places together, mostly never touched */
#define MOST_QUARANTINED ((size_t)1 << 27)

enum block_state {
    UNUSED,
    LIVE,
    BEING_FREED, /* its stack is taken; open as before */
    FREED,
    OPENED, /* freed, used, and open since */
};
struct block {
    _Atomic uint32_t state;
    _Atomic uint32_t guard_open; /* the closed page behind it was opened after an overflow */
    uintptr_t start;
    size_t size;
    uint32_t allocating_thread, freeing_thread;
    uint64_t allocated_at[FRAMES], freed_at[FRAMES];
};

uintptr_t heap_guard_low, heap_guard_high;
static size_t stride; /* of a place: its pages and the closed one */
static uint32_t n_blocks, most_live;
static struct block *block;
static _Atomic uint32_t unused, live; /* the first place never used; how many are live */

static struct quarantine quarantine = {.in = 1, .out = 1};
_Static_assert((int)MOST_BLOCKS < (int)QUARANTINE_MOST, "all places");

static __thread struct { bool on, seen; } test;

static uintptr_t place_of(const struct block *b) {
    return heap_guard_low + (size_t)(b - block) * stride;
}

static uintptr_t guard_of(const struct block *b) {
    return place_of(b) + stride - PAGE;
}

static struct block *block_at(uintptr_t address) {
    return &block[(address - heap_guard_low) / stride];
}

static bool protect(uintptr_t from, size_t bytes, int how) {
    int saved = errno;
    bool ok = !mprotect((void *)from, bytes, how);
    errno = saved;
    return ok;
}

static bool open_place(const struct block *b) {
    return protect(place_of(b), stride - PAGE, PROT_READ | PROT_WRITE);
}

static void walk_stack(uint64_t *pc) {
    thread_self.in_locks++;
    unwind_addresses(pc, FRAMES);
    thread_self.in_locks--;
}

/* ---- places ---- */

/* Of large blocks the quarantine keeps fewer than there are places for: it is all memory in use. */
static bool quarantine_is_large(void) {
    uint32_t used = atomic_load(&unused), now = atomic_load(&live);
    return used > now && (uint64_t)(used - now) * (stride - PAGE) > MOST_QUARANTINED;
}

static struct block *find_place(void) {
    uint32_t i;
    if (quarantine_is_large() && quarantine_take(&quarantine, &i))
        return &block[i];
    i = atomic_load(&unused);
    while (i < n_blocks)
        if (atomic_compare_exchange_strong(&unused, &i, i + 1))
            return &block[i];
    return quarantine_take(&quarantine, &i) ? &block[i] : NULL;
}

static void put_away(const struct block *b) {
    quarantine_put(&quarantine, (uint32_t)(b - block));
}

/* ---- start ---- */

static void *reserve(size_t bytes, int how) {
    void *p = mmap(NULL, bytes, how, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

/* A fork child that was let in: what another thread was in the midst of there is nobody's now. */
static void begin_again(void) {
    quarantine_empty(&quarantine);
    atomic_store(&live, 0);
    for (uint32_t i = 0; i < n_blocks; i++) {
        uint32_t state = atomic_load(&block[i].state);
        if (state == LIVE)
            atomic_fetch_add(&live, 1);
        if (state == FREED || state == OPENED)
            put_away(&block[i]);
    }
}

static bool take_fault(const siginfo_t *info, const ucontext_t *context);

bool heap_guard_start(void) {
    if (block) {
        begin_again();
        return true;
    }
    size_t high = process->board->heap_high, room;
    stride = ((high + PAGE - 1) & ~(size_t)(PAGE - 1)) + PAGE;
    room = MOST_BYTES / stride;
    n_blocks = room < MOST_BLOCKS ? (uint32_t)room : MOST_BLOCKS;
    most_live = (uint32_t)((uint64_t)n_blocks * MOST_LIVE / MOST_BLOCKS);
    char *arena = reserve(n_blocks * stride, PROT_NONE);
    struct block *table = reserve(n_blocks * sizeof *table, PROT_READ | PROT_WRITE);
    quarantine.n = n_blocks;
    quarantine.entry = reserve(n_blocks * sizeof *quarantine.entry, PROT_READ | PROT_WRITE);
    if (!arena || !table || !quarantine.entry) {
        process_problem("no room for guarded blocks: detector `heap` needs 1 GiB of address space "
                        "(see `ulimit -v`)");
        return false;
    }
    if (!fault_signals_take(take_fault)) {
        process_problem("the kernel gives SIGSEGV and SIGBUS to nobody: detector `heap` is blind");
        return false;
    }
    block = table;
    heap_guard_low = (uintptr_t)arena;
    heap_guard_high = (uintptr_t)arena + n_blocks * stride;
    return true;
}

/* ---- findings ---- */

static void say_where(struct board_finding *f, const struct block *b, uintptr_t address) {
    uintptr_t end = b->start + b->size;
    bool behind = address >= end;
    bool before = address < b->start;
    finding_say_number(f,
                       behind   ? address - end
                       : before ? b->start - address
                                : address - b->start,
                       10);
    finding_say(f, behind   ? " bytes behind the end of"
                   : before ? " bytes before the start of"
                            : " bytes inside");
    finding_say(f, " a block of ");
    finding_say_number(f, b->size, 10);
    finding_say(f, " bytes");
}

/* `what` the thread did, `use` where. */
static void report(enum finding_kind kind, const char *what, const struct block *b,
                   uintptr_t address, const uint64_t *use, bool was_freed) {
    if (!process_armed() || vfork_state.child || !finding_is_new(what, use))
        return;
    struct board_finding *f = finding_begin(kind);
    if (!f)
        return;
    f->note[0] = '\0';
    finding_say(f, what);
    finding_say(f, " at 0x");
    finding_say_number(f, address, 16);
    finding_say(f, ", ");
    say_where(f, b, address);
    finding_say(f, " that thread ");
    finding_say_number(f, b->allocating_thread, 10);
    finding_say(f, " allocated");
    if (was_freed) {
        finding_say(f, " and thread ");
        finding_say_number(f, b->freeing_thread, 10);
        finding_say(f, " freed");
    }
    f->address = address;
    finding_addresses(f, STACK_USE, use, FRAMES);
    if (was_freed)
        finding_addresses(f, STACK_FREE, b->freed_at, FRAMES);
    finding_addresses(f, STACK_ALLOC, b->allocated_at, FRAMES);
    finding_end(f);
}

static void report_here(enum finding_kind kind, const char *what, const struct block *b,
                        uintptr_t address, bool was_freed) {
    uint64_t use[FRAMES];
    walk_stack(use);
    report(kind, what, b, address, use, was_freed);
}

/* ---- faults ---- */

static void report_fault(const ucontext_t *context, enum finding_kind kind, const char *load,
                         const char *store, const struct block *b, uintptr_t address,
                         bool was_freed) {
    uint64_t use[FRAMES];
    thread_self.in_locks++;
    unwind_interrupted(use, FRAMES, arch_faulting_instruction(context));
    thread_self.in_locks--;
    report(kind, arch_fault_is_store(context) ? store : load, b, address, use, was_freed);
}

static bool is_freed(const struct block *b) {
    uint32_t state = atomic_load(&b->state);
    return state == FREED || state == OPENED;
}

/* The closed page between two places belongs to whichever block is nearer. */
static bool take_overflow(struct block *b, uintptr_t address, const ucontext_t *context) {
    struct block *next = b + 1 < block + n_blocks ? b + 1 : b;
    bool next_is_nearer = atomic_load(&next->state) == LIVE && next->start > address &&
                          (atomic_load(&b->state) == UNUSED ||
                           next->start - address < address - (b->start + b->size));
    struct block *meant = next_is_nearer ? next : b;
    if (atomic_load(&meant->state) == UNUSED)
        return false;
    report_fault(context, FINDING_HEAP_CORRUPTION, "heap-buffer-overflow: a load",
                 "heap-buffer-overflow: a store", meant, address, is_freed(meant));
    atomic_store(&b->guard_open, 1);
    return protect(guard_of(b), PAGE, PROT_READ | PROT_WRITE);
}

/* A block that is open after all: it was opened or used anew since the fault, or the program itself
 * closed its page. */
static bool take_again(uintptr_t address) {
    static __thread struct { uintptr_t address, count; } last;
    last.count = last.address == address ? last.count + 1 : 1;
    last.address = address;
    return last.count <= RETRIES;
}

static bool take_fault(const siginfo_t *info, const ucontext_t *context) {
    uintptr_t address = (uintptr_t)info->si_addr;
    if (!heap_guard_has(info->si_addr))
        return false;
    struct block *b = block_at(address);
    bool behind = address >= guard_of(b);
    uint32_t state = atomic_load(&b->state);
    if (!process_armed()) /* a fork child: it goes on as it would have gone */
        return state != UNUSED && protect(place_of(b), stride, PROT_READ | PROT_WRITE);
    if (behind)
        return take_overflow(b, address, context);
    if (state == LIVE || state == BEING_FREED)
        return take_again(address);
    if (state == UNUSED || (state == OPENED && !take_again(address)))
        return false;
    if (test.on)
        test.seen = true;
    else if (state == FREED)
        report_fault(context, FINDING_HEAP_USE_AFTER_FREE, "heap-use-after-free: a load",
                     "heap-use-after-free: a store", b, address, true);
    atomic_compare_exchange_strong(&b->state, &state, OPENED);
    return open_place(b);
}

bool heap_guard_opens(const void *bytes, size_t n, bool store) {
    struct block *b = block_at((uintptr_t)bytes);
    uint32_t state = atomic_load(&b->state);
    if (!n || state == UNUSED)
        return false;
    if (state == FREED) {
        report_here(FINDING_HEAP_USE_AFTER_FREE,
                    store ? "heap-use-after-free: a store by a system call"
                          : "heap-use-after-free: a load by a system call",
                    b, (uintptr_t)bytes, true);
        atomic_compare_exchange_strong(&b->state, &state, OPENED);
        return open_place(b);
    }
    if ((uintptr_t)bytes + n <= guard_of(b) || atomic_exchange(&b->guard_open, 1))
        return false;
    report_here(FINDING_HEAP_CORRUPTION,
                store ? "heap-buffer-overflow: a store by a system call"
                      : "heap-buffer-overflow: a load by a system call",
                b, guard_of(b), false);
    return protect(guard_of(b), PAGE, PROT_READ | PROT_WRITE);
}

/* ---- allocating ---- */

static bool is_of_the_class(size_t size, size_t alignment) {
    return process_armed() && !vfork_state.child && size >= process->board->heap_low &&
           size <= process->board->heap_high && alignment <= PAGE;
}

static void *fill_place(struct block *b, size_t size, size_t alignment) {
    uint64_t here[FRAMES];
    walk_stack(here);
    if (!open_place(b)) {
        /* Too many mappings: the program's own count too. */
        put_away(b);
        process_table_full(TABLE_GUARDS);
        return NULL;
    }
    if (atomic_exchange(&b->guard_open, 0))
        protect(guard_of(b), PAGE, PROT_NONE);
    memcpy(b->allocated_at, here, sizeof here);
    b->allocating_thread = thread_id();
    b->size = size;
    b->start = (guard_of(b) - size) & ~(uintptr_t)(alignment - 1);
    memset((void *)(b->start + size), SLACK, guard_of(b) - b->start - size);
    atomic_store(&b->state, LIVE);
    return (void *)b->start;
}

void *heap_guard_allocate(size_t size, size_t alignment) {
    if (!heap_guard_low || !is_of_the_class(size, alignment))
        return NULL;
    struct block *b = atomic_fetch_add(&live, 1) < most_live ? find_place() : NULL;
    void *p = b ? fill_place(b, size, alignment) : NULL;
    if (!p) {
        process_table_full(TABLE_GUARDS);
        atomic_fetch_sub(&live, 1);
    } else if (!test.on) {
        atomic_fetch_add_explicit(&process_slot()->guarded, 1, memory_order_relaxed);
    }
    return p;
}

/* ---- freeing ---- */

static void check_slack(const struct block *b) {
    const unsigned char *end = (const unsigned char *)b->start + b->size;
    for (; (uintptr_t)end < guard_of(b); end++)
        if (*end != SLACK) {
            report_here(FINDING_HEAP_CORRUPTION,
                        "heap-buffer-overflow: the free saw a changed byte", b, (uintptr_t)end,
                        false);
            return;
        }
}

static void refuse_free(const struct block *b, uintptr_t address) {
    uint32_t state = atomic_load(&b->state);
    if (state == FREED || state == OPENED || state == BEING_FREED)
        report_here(FINDING_DOUBLE_FREE, "double-free: a second free", b, address, true);
    else
        report_here(FINDING_HEAP_CORRUPTION, "a free of what is no block's start", b, address,
                    false);
}

void heap_guard_free(void *p) {
    struct block *b = block_at((uintptr_t)p);
    uint32_t was = LIVE;
    if ((uintptr_t)p != b->start || !atomic_compare_exchange_strong(&b->state, &was, BEING_FREED)) {
        refuse_free(b, (uintptr_t)p);
        return;
    }
    walk_stack(b->freed_at);
    b->freeing_thread = thread_id();
    check_slack(b);
    atomic_fetch_sub(&live, 1);
    /* In this order a fault in it always finds it freed. In a fork child nobody would open it. */
    atomic_store(&b->state, FREED);
    if (process_armed() && !protect(place_of(b), stride - PAGE, PROT_NONE))
        process_table_full(TABLE_GUARDS);
    put_away(b);
}

size_t heap_guard_size(const void *p) {
    return block_at((uintptr_t)p)->size;
}

bool heap_guard_self_test(void) {
    test.on = true;
    test.seen = false;
    volatile char *p = heap_guard_allocate(process->board->heap_low, 1);
    if (p) {
        *p = 1;
        heap_guard_free((void *)(uintptr_t)p);
        (void)*p;
    }
    test.on = false;
    return test.seen;
}
