/* Detector `locks`. Reads the words of glibc's locks, whose layout is in its public headers. On any
 * thread, also in signal handlers. */
#include "lock_misuse.h"
#include "findings.h"
#include "process.h"
#include "thread.h"
#include "unwind_stack.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* glibc leaves a destroyed rwlock as it was. This goes into a word of it that nothing uses and that
 * initializing clears, so that a new lock in the same memory is not taken for the old one. */
enum { DESTROYED_RWLOCK = 0x64656164 };
enum { KIND_BITS = 3, ROBUST_BIT = 16 }; /* of a mutex's __kind */

static __thread struct { bool on, seen; } test;

/* ---- what stands in a lock ---- */

enum lock_kind lock_misuse_mutex_kind(const pthread_mutex_t *m) {
    int kind = __atomic_load_n(&m->__data.__kind, __ATOMIC_RELAXED);
    if (kind == -1)
        return LOCK_MUTEX;
    if (kind & ROBUST_BIT)
        return LOCK_ROBUST_MUTEX;
    switch (kind & KIND_BITS) {
    case PTHREAD_MUTEX_RECURSIVE:
        return LOCK_RECURSIVE_MUTEX;
    case PTHREAD_MUTEX_ERRORCHECK:
        return LOCK_ERROR_CHECKING_MUTEX;
    default:
        return LOCK_MUTEX;
    }
}

static bool is_rwlock(enum lock_kind kind) {
    return kind == LOCK_RWLOCK_READ || kind == LOCK_RWLOCK_WRITE;
}

static uint32_t readers(const pthread_rwlock_t *l) {
    return __atomic_load_n(&l->__data.__readers, __ATOMIC_ACQUIRE) >> 3; /* below: phase bits */
}

static uint32_t writer(const pthread_rwlock_t *l) {
    return (uint32_t)__atomic_load_n(&l->__data.__cur_writer, __ATOMIC_ACQUIRE);
}

/* The thread that a mutex or a rwlock for writing says it belongs to; 0: none, or not told. */
static uint32_t owner_in(const void *lock, enum lock_kind kind) {
    if (is_rwlock(kind))
        return writer(lock);
    if (kind == LOCK_SPIN)
        return 0;
    return (uint32_t)__atomic_load_n(&((const pthread_mutex_t *)lock)->__data.__owner,
                                     __ATOMIC_ACQUIRE);
}

static bool is_locked(const void *lock, enum lock_kind kind) {
    if (is_rwlock(kind))
        return readers(lock) || writer(lock);
    if (kind == LOCK_SPIN)
        return __atomic_load_n((const int *)lock, __ATOMIC_ACQUIRE) != 1;
    return __atomic_load_n(&((const pthread_mutex_t *)lock)->__data.__lock, __ATOMIC_ACQUIRE) != 0;
}

/* ---- findings ---- */

/* `what` is said of the lock. `acquired`, `other` (a stack in `role`): NULL where there is none. */
static void report(enum finding_kind kind, const char *what, const void *lock,
                   enum lock_kind lock_kind, board_party owner, const struct board_held *acquired,
                   enum stack_role role, const uint64_t *other) {
    uint64_t use[BOARD_LOCK_FRAMES];
    test.seen = true;
    if (test.on)
        return;
    thread_self.in_locks++;
    unwind_addresses(use, BOARD_LOCK_FRAMES);
    thread_self.in_locks--;
    struct board_finding *f = finding_is_new(what, use) ? finding_begin(kind) : NULL;
    if (!f)
        return;
    char who[64] = "";
    if (owner)
        snprintf(who, sizeof who, " (owned by thread %u)", board_party_tid(owner));
    snprintf(f->note, sizeof f->note, "the %s at 0x%lx %s%s", board_lock_name(lock_kind),
             (unsigned long)(uintptr_t)lock, what, who);
    f->address = (uint64_t)(uintptr_t)lock;
    finding_addresses(f, STACK_USE, use, BOARD_LOCK_FRAMES);
    if (acquired)
        finding_addresses(f, STACK_ACQUISITION, acquired->pc, BOARD_LOCK_FRAMES);
    if (other)
        finding_addresses(f, role, other, BOARD_LOCK_FRAMES);
    finding_end(f);
}

/* ---- destroyed locks ---- */

static struct board_destroyed *place_of(const void *lock) {
    uint64_t hash = ((uint64_t)(uintptr_t)lock ^ process->slot) * 0x9e3779b97f4a7c15u;
    return &process->board->destroyed[(hash >> 32) % BOARD_DESTROYED_LOCKS];
}

static struct board_destroyed *destroyed_entry(const void *lock) {
    struct board_destroyed *d = place_of(lock);
    return atomic_load(&d->address) == (uint64_t)(uintptr_t)lock &&
                   board_party_slot(d->party) == process->slot
               ? d
               : NULL;
}

/* Destroyed and not begun again, also where nobody told us that it was: what stands in it decides,
 * except for spinlocks, which must be initialized by a call. */
static bool is_destroyed(const void *lock, enum lock_kind kind) {
    if (is_rwlock(kind))
        return ((const pthread_rwlock_t *)lock)->__data.__pad3 == DESTROYED_RWLOCK &&
               destroyed_entry(lock);
    if (kind == LOCK_SPIN)
        return destroyed_entry(lock) != NULL;
    return __atomic_load_n(&((const pthread_mutex_t *)lock)->__data.__kind, __ATOMIC_RELAXED) == -1;
}

static bool reported_destroyed(const char *what, const void *lock, enum lock_kind kind) {
    if (!is_destroyed(lock, kind))
        return false;
    const struct board_destroyed *d = destroyed_entry(lock);
    report(FINDING_LOCK_MISUSE, what, lock, kind, 0, NULL, STACK_DESTROY, d ? d->pc : NULL);
    return true;
}

/* ---- freed locks ---- */

/* Those that were owned when their memory was freed, until a later one with the same hash. */
static struct freed_lock {
    _Atomic uint64_t address; /* written last */
    uint64_t pc[BOARD_LOCK_FRAMES];
} freed_lock[64];

static struct freed_lock *freed_place(const void *lock) {
    uint64_t hash = (uint64_t)(uintptr_t)lock * 0x9e3779b97f4a7c15u;
    return &freed_lock[(hash >> 32) % (sizeof freed_lock / sizeof *freed_lock)];
}

static const struct freed_lock *freed_entry(const void *lock) {
    const struct freed_lock *f = freed_place(lock);
    return atomic_load(&f->address) == (uint64_t)(uintptr_t)lock ? f : NULL;
}

static void remember_freed(const void *lock) {
    struct freed_lock *f = freed_place(lock);
    atomic_store(&f->address, 0);
    thread_self.in_locks++;
    unwind_addresses(f->pc, BOARD_LOCK_FRAMES);
    thread_self.in_locks--;
    atomic_store(&f->address, (uint64_t)(uintptr_t)lock);
}

static bool is_on(void) {
    return process_armed() && !vfork_state.child && !thread_self.in_locks &&
           (process->board->detectors & DETECT_LOCKS);
}

/* ---- acquisitions that were refused ---- */

/* The last ones of this thread with EDEADLK. Where one has made room for another, the release is
 * found all the same, without the stack of the acquisition. */
enum { REFUSED = 4 };
static __thread struct refused {
    const void *lock; /* NULL: none */
    uint64_t pc[BOARD_LOCK_FRAMES];
} refused[REFUSED];
static __thread uint32_t n_refused;

static struct refused *refused_entry(const void *lock) {
    for (int i = 0; n_refused && i < REFUSED; i++)
        if (refused[i].lock == lock)
            return &refused[i];
    return NULL;
}

void lock_misuse_refused(const void *lock) {
    if (!is_on())
        return;
    struct refused *r = refused_entry(lock);
    r = r ? r : &refused[n_refused++ % REFUSED];
    r->lock = lock;
    thread_self.in_locks++;
    unwind_addresses(r->pc, BOARD_LOCK_FRAMES);
    thread_self.in_locks--;
}

void lock_misuse_acquired(const void *lock) {
    struct refused *r = refused_entry(lock);
    if (r)
        r->lock = NULL;
}

/* It is not this thread's any more, which was told EDEADLK and has not acquired it since. */
static bool reported_refused(const void *lock, enum lock_kind kind) {
    struct refused *r = refused_entry(lock);
    if (!r || owner_in(lock, kind) == thread_id())
        return false;
    report(FINDING_LOCK_MISUSE,
           "is released once more than it was acquired: that an acquisition was refused with "
           "EDEADLK was ignored",
           lock, kind, 0, NULL, STACK_ACQUISITION, r->pc);
    r->lock = NULL;
    return true;
}

/* ---- the rules ---- */

void lock_misuse_asks(const void *lock, enum lock_kind kind, enum lock_waiting waiting) {
    if (!is_on() || reported_destroyed("is used after it was destroyed", lock, kind))
        return;
    struct board_held *mine = waiting == WAIT_FOREVER ? lock_table_own(lock) : NULL;
    if (!mine || !is_locked(lock, kind))
        return;
    /* Of the others, the C library itself refuses what would never end. */
    bool again = kind == LOCK_MUTEX && owner_in(lock, kind) == thread_id();
    bool upgrade = kind == LOCK_RWLOCK_WRITE && mine->kind == LOCK_RWLOCK_READ && readers(lock);
    bool spin = kind == LOCK_SPIN;
    if (again || upgrade || spin)
        report(FINDING_DEADLOCK, "is asked for by the thread that owns it: it will wait for ever",
               lock, kind, 0, mine, STACK_DESTROY, NULL);
}

/* All who read the rwlock are known, and this thread is none of them. */
static bool only_others_read(const void *lock, board_party *owner, struct board_held **theirs) {
    uint32_t n;
    *theirs = lock_table_owner(lock, true, owner, &n);
    return *theirs && readers(lock) && n >= readers(lock);
}

void lock_misuse_releases(const void *lock, enum lock_kind kind) {
    struct board_held *mine = is_on() ? lock_table_own(lock) : NULL, *theirs;
    if (mine && atomic_load(&mine->freed)) {
        const struct freed_lock *f = freed_entry(lock);
        report(FINDING_LOCK_MISUSE, "is released after its memory was freed", lock,
               (enum lock_kind)mine->kind, 0, mine, STACK_FREE, f ? f->pc : NULL);
        return;
    }
    if (!is_on() || reported_destroyed("is released after it was destroyed", lock, kind))
        return;
    board_party owner = 0;
    uint32_t in_lock = owner_in(lock, kind);
    if (!mine && reported_refused(lock, kind))
        return;
    if (mine) {
        /* A reader's name does not stand in the lock, a spinlock has no owner's name at all. */
        if (kind != LOCK_SPIN && mine->kind != LOCK_RWLOCK_READ && in_lock != thread_id())
            report(FINDING_LOCK_MISUSE,
                   "is released, but does not name its owner any more: its memory was freed or "
                   "overwritten while it was owned",
                   lock, kind, 0, mine, STACK_DESTROY, NULL);
        return;
    }
    if (!is_locked(lock, kind)) {
        report(FINDING_LOCK_MISUSE, "is released, but nobody owns it", lock, kind, 0, NULL,
               STACK_DESTROY, NULL);
        return;
    }
    theirs = lock_table_owner(lock, true, &owner, NULL);
    bool stranger = theirs && in_lock && in_lock != thread_id();
    if (stranger || (is_rwlock(kind) && only_others_read(lock, &owner, &theirs)))
        report(FINDING_LOCK_MISUSE, "is released by a thread that does not own it", lock, kind,
               owner, theirs, STACK_DESTROY, NULL);
}

void lock_misuse_destroys(const void *lock, enum lock_kind kind) {
    if (!is_on() || reported_destroyed("is destroyed a second time", lock, kind))
        return;
    board_party owner = 0;
    struct board_held *held = lock_table_owner(lock, false, &owner, NULL);
    if (is_locked(lock, kind) && (held || kind != LOCK_SPIN))
        report(FINDING_LOCK_MISUSE, "is destroyed while it is owned", lock,
               held ? (enum lock_kind)held->kind : kind, owner, held, STACK_DESTROY, NULL);
}

bool lock_misuse_looks_at_frees(void) {
    return is_on();
}

void lock_misuse_frees(const void *block, size_t bytes) {
    struct lock_inside in;
    int saved = errno; /* a free keeps it */
    while (lock_table_inside(block, bytes, false, &in)) {
        const void *lock = (const void *)(uintptr_t)in.address;
        if (!is_locked(lock, in.kind)) { /* it was released without our knowing */
            atomic_store(&in.held->address, 0);
            continue;
        }
        atomic_store(&in.held->freed, 1);
        remember_freed(lock);
        report(FINDING_LOCK_MISUSE, "is freed while it is owned", lock, in.kind, in.party, in.held,
               STACK_FREE, NULL);
    }
    if (lock_table_inside(block, bytes, true, &in))
        report(FINDING_LOCK_MISUSE, "is freed while a thread asks for it",
               (const void *)(uintptr_t)in.address, in.kind, 0, NULL, STACK_FREE, NULL);
    errno = saved;
}

void lock_misuse_destroyed(void *lock, enum lock_kind kind) {
    if (!is_on())
        return;
    struct board_destroyed *d = place_of(lock);
    if (is_rwlock(kind))
        ((pthread_rwlock_t *)lock)->__data.__pad3 = DESTROYED_RWLOCK;
    atomic_store(&d->address, 0);
    d->party = board_party_make(process->slot, process->incarnation, thread_id());
    d->kind = (uint32_t)kind;
    thread_self.in_locks++;
    unwind_addresses(d->pc, BOARD_LOCK_FRAMES);
    thread_self.in_locks--;
    atomic_store(&d->address, (uint64_t)(uintptr_t)lock);
}

void lock_misuse_begins(const void *lock) {
    struct board_destroyed *d = is_on() ? destroyed_entry(lock) : NULL;
    if (d)
        atomic_store(&d->address, 0);
}

/* ---- the live test ---- */

bool lock_misuse_self_test(void) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    bool known, found;
    thread_self.engaged++; /* no arrivals of the plan's */
    pthread_mutex_lock(&lock);
    known = lock_table_own(&lock) != NULL;
    test.on = true;
    test.seen = false;
    lock_misuse_destroys(&lock, LOCK_MUTEX);
    found = test.seen;
    test.on = false;
    pthread_mutex_unlock(&lock);
    thread_self.engaged--;
    return known && found && !lock_table_own(&lock);
}
