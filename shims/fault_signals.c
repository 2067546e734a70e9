/* Ownership of SIGSEGV and SIGBUS (way 1: sigaction, signal, sigprocmask and their like before
 * libc's). The handler runs on any thread, at any instruction. Never allocates, never locks. */
#include "fault_signals.h"
#include "original.h"
#include "process.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORTED __attribute__((visibility("default")))

ORIGINAL(int, sigaction, int, const struct sigaction *, struct sigaction *)
ORIGINAL(__sighandler_t, signal, int, __sighandler_t)
ORIGINAL(__sighandler_t, sysv_signal, int, __sighandler_t)
ORIGINAL(int, sigprocmask, int, const sigset_t *, sigset_t *)
ORIGINAL(int, pthread_sigmask, int, const sigset_t *, sigset_t *)

enum { OWNED = 2, MAX_TAKERS = 4, ACTIONS = 16, KERNEL_SIGNALS = 64 };
enum { RESTORER = 0x04000000 }; /* the C library adds it to the flags of whatever is set */
static const int owned_signal[OWNED] = {SIGSEGV, SIGBUS};
#define ALL_OWNED ((1u << OWNED) - 1)

static _Atomic uint32_t owning;
static fault_taker *_Atomic taker[MAX_TAKERS];

/* What the program set. A new action takes a place of its own, so that a fault in the midst of that
 * reads a whole one. */
static struct program_action {
    struct sigaction place[ACTIONS];
    _Atomic uint32_t next;
    struct sigaction *_Atomic now;
} program_action[OWNED];
/* Bits of owned signals in the masks of the program's other handlers, which the kernel never gets.
 */
static _Atomic uint8_t masked_in_handler[KERNEL_SIGNALS + 1];

/* Of this thread: what it blocks, and what was sent to it meanwhile. */
static __thread uint32_t blocked;
static __thread struct {
    bool is_set;
    siginfo_t info;
} pending[OWNED];

static bool is_owning(void) {
    return atomic_load_explicit(&owning, memory_order_relaxed) != 0;
}

static int owned_index(int number) {
    for (int i = 0; i < OWNED; i++)
        if (owned_signal[i] == number)
            return i;
    return -1;
}

/* The kernel's signal sets are one word; so is the part of the C library's that counts. */
static uint64_t *word_of(sigset_t *set) {
    return (uint64_t *)(void *)set;
}

static uint64_t bit_of(int number) {
    return (uint64_t)1 << (number - 1);
}

static uint32_t owned_in(uint64_t word) {
    uint32_t bits = 0;
    for (int i = 0; i < OWNED; i++)
        if (word & bit_of(owned_signal[i]))
            bits |= 1u << i;
    return bits;
}

static uint64_t words_for(uint32_t bits) {
    uint64_t word = 0;
    for (int i = 0; i < OWNED; i++)
        if (bits & (1u << i))
            word |= bit_of(owned_signal[i]);
    return word;
}

static bool is_function(const struct sigaction *a) {
    return a->sa_handler != SIG_DFL && a->sa_handler != SIG_IGN;
}

/* ---- a fault ---- */

static void set_kernel_mask(uint64_t mask) {
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, sizeof mask);
}

static void send_to_self(int number, const siginfo_t *info) {
    syscall(SYS_rt_tgsigqueueinfo, getpid(), (pid_t)syscall(SYS_gettid), number, info);
}

/* The default action, so that exit status and core are the program's own: of a fault by running its
 * instruction again, of a signal that was sent by sending it again. */
static void let_die(int number, const siginfo_t *info) {
    struct sigaction plain = {.sa_handler = SIG_DFL};
    get_sigaction()(number, &plain, NULL);
    if (info->si_code <= 0)
        send_to_self(number, info);
}

static void set_program_action(int i, const struct sigaction *a) {
    struct program_action *p = &program_action[i];
    struct sigaction *place = &p->place[atomic_fetch_add(&p->next, 1) % ACTIONS];
    *place = *a;
    atomic_store(&p->now, place);
}

/* As the kernel does it: the mask first, then the handler; what it leaves in the context holds
 * afterwards. */
static void call_program(int i, const struct sigaction *a, siginfo_t *info, ucontext_t *context) {
    int number = owned_signal[i];
    uint64_t *mask = word_of(&context->uc_sigmask), during = *mask;
    sigset_t added = a->sa_mask;
    during |= *word_of(&added) | (a->sa_flags & SA_NODEFER ? 0 : bit_of(number));
    *mask |= words_for(blocked);
    set_kernel_mask(during);
    a->sa_sigaction(number, info, context); /* the kernel gives all three to every handler */
    blocked = owned_in(*mask);
    *mask &= ~words_for(ALL_OWNED);
}

static void forward(int i, siginfo_t *info, ucontext_t *context) {
    struct sigaction a = *atomic_load(&program_action[i].now);
    bool was_sent = info->si_code <= 0;
    if (was_sent && (blocked & (1u << i))) {
        pending[i].info = *info;
        pending[i].is_set = true;
        return;
    }
    if (was_sent && a.sa_handler == SIG_IGN)
        return;
    if (!is_function(&a) || (blocked & (1u << i))) {
        let_die(owned_signal[i], info);
        return;
    }
    if (a.sa_flags & SA_RESETHAND) {
        struct sigaction reset = a;
        reset.sa_handler = SIG_DFL;
        set_program_action(i, &reset);
    }
    call_program(i, &a, info, context);
}

static void on_fault(int number, siginfo_t *info, void *context) {
    int saved = errno;
    int i = owned_index(number);
    bool taken = i < 0;
    for (int k = 0; k < MAX_TAKERS && info->si_code > 0 && !taken; k++) {
        fault_taker *t = atomic_load(&taker[k]);
        taken = t && t(info, context);
    }
    errno = saved;
    if (!taken)
        forward(i, info, context);
}

/* Ours in the kernel. It takes the alternate stack unless the program's handler wants none: then
 * that one runs where it would have run. */
static int install(int i) {
    const struct sigaction *theirs = atomic_load(&program_action[i].now);
    bool plain_stack = is_function(theirs) && !(theirs->sa_flags & SA_ONSTACK);
    struct sigaction ours = {.sa_sigaction = on_fault,
                             .sa_flags = SA_SIGINFO | SA_NODEFER | (plain_stack ? 0 : SA_ONSTACK) |
                                         (theirs->sa_flags & SA_RESTART)};
    sigemptyset(&ours.sa_mask);
    return get_sigaction()(owned_signal[i], &ours, NULL);
}

/* All of these may be called first by a handler of the program's, in which no look-up may run. */
__attribute__((constructor)) static void find_originals(void) {
    get_sigaction();
    get_signal();
    get_sysv_signal();
    get_sigprocmask();
    get_pthread_sigmask();
}

static bool own(void) {
    sigset_t both, before;
    sigemptyset(&both);
    for (int i = 0; i < OWNED; i++) {
        struct sigaction theirs;
        if (get_sigaction()(owned_signal[i], NULL, &theirs))
            return false;
        set_program_action(i, &theirs);
        sigaddset(&both, owned_signal[i]);
    }
    if (get_sigprocmask()(SIG_UNBLOCK, &both, &before)) /* there is one thread yet */
        return false;
    blocked = owned_in(*word_of(&before));
    for (int i = 0; i < OWNED; i++)
        if (install(i))
            return false;
    atomic_store(&owning, 1);
    return true;
}

bool fault_signals_take(fault_taker *t) {
    for (int i = 0; i < MAX_TAKERS; i++) {
        fault_taker *nobody = NULL;
        if (atomic_load(&taker[i]) == t || atomic_compare_exchange_strong(&taker[i], &nobody, t))
            return is_owning() || own();
    }
    return false;
}

uint32_t fault_signals_blocked(void) {
    return blocked;
}

void fault_signals_inherit(uint32_t bits) {
    blocked = bits;
}

void fault_signals_check(void) {
    for (int i = 0; i < OWNED && is_owning(); i++) {
        struct sigaction now;
        if (!get_sigaction()(owned_signal[i], NULL, &now) && now.sa_sigaction != on_fault)
            process_problem("the program set a handler of SIGSEGV or SIGBUS past sigaction (by a "
                            "system call of its own, or sigset): faults after that were not looked "
                            "at; leave out the detector `heap` for this program");
    }
}

/* ---- what programs call: handlers ---- */

static int set_owned(int i, const struct sigaction *new, struct sigaction *old) {
    struct sigaction before = *atomic_load(&program_action[i].now);
    if (new) {
        struct sigaction theirs = *new;
        theirs.sa_flags |= RESTORER;
        set_program_action(i, &theirs);
        if (install(i))
            return -1;
    }
    if (old)
        *old = before;
    return 0;
}

/* The handler of another signal: a fault inside it must find its way to us. */
static int set_other(int number, const struct sigaction *new, struct sigaction *old) {
    struct sigaction stripped;
    bool known = number > 0 && number <= KERNEL_SIGNALS;
    uint32_t before = known ? atomic_load(&masked_in_handler[number]) : 0, bits = 0;
    if (new &&known) {
        stripped = *new;
        bits = owned_in(*word_of(&stripped.sa_mask));
        *word_of(&stripped.sa_mask) &= ~words_for(ALL_OWNED);
        new = &stripped;
    }
    int failed = get_sigaction()(number, new, old);
    if (!failed && known && new)
        atomic_store(&masked_in_handler[number], (uint8_t)bits);
    if (!failed && old)
        *word_of(&old->sa_mask) |= words_for(before);
    return failed;
}

static int set_action(int number, const struct sigaction *new, struct sigaction *old) {
    int i = owned_index(number);
    if (!is_owning())
        return get_sigaction()(number, new, old);
    return i >= 0 ? set_owned(i, new, old) : set_other(number, new, old);
}

int __sigaction(int number, const struct sigaction *new, struct sigaction *old);
__sighandler_t __sysv_signal(int number, __sighandler_t handler);
__sighandler_t bsd_signal(int number, __sighandler_t handler);

EXPORTED int sigaction(int number, const struct sigaction *restrict new,
                       struct sigaction *restrict old) {
    return set_action(number, new, old);
}

EXPORTED int __sigaction(int number, const struct sigaction *new, struct sigaction *old) {
    return set_action(number, new, old);
}

static __sighandler_t set_simple(int i, __sighandler_t handler, int flags) {
    struct sigaction new = {.sa_handler = handler, .sa_flags = flags}, old;
    if (flags & SA_RESTART)
        sigaddset(&new.sa_mask, owned_signal[i]);
    return set_owned(i, &new, &old) ? SIG_ERR : old.sa_handler;
}

EXPORTED __sighandler_t signal(int number, __sighandler_t handler) {
    int i = owned_index(number);
    return i < 0 || !is_owning() ? get_signal()(number, handler)
                                 : set_simple(i, handler, SA_RESTART);
}

EXPORTED __sighandler_t bsd_signal(int number, __sighandler_t handler) {
    return signal(number, handler);
}

EXPORTED __sighandler_t ssignal(int number, __sighandler_t handler) {
    return signal(number, handler);
}

EXPORTED __sighandler_t sysv_signal(int number, __sighandler_t handler) {
    int i = owned_index(number);
    return i < 0 || !is_owning() ? get_sysv_signal()(number, handler)
                                 : set_simple(i, handler, (int)(SA_RESETHAND | SA_NODEFER));
}

EXPORTED __sighandler_t __sysv_signal(int number, __sighandler_t handler) {
    return sysv_signal(number, handler);
}

/* ---- what programs call: masks ---- */

static void deliver_pending(void) {
    for (int i = 0; i < OWNED; i++) {
        if (!pending[i].is_set || (blocked & (1u << i)))
            continue;
        pending[i].is_set = false;
        send_to_self(owned_signal[i], &pending[i].info);
    }
}

static int change_mask(int (*original)(int, const sigset_t *, sigset_t *), int how,
                       const sigset_t *set, sigset_t *old) {
    if (!is_owning())
        return original(how, set, old);
    sigset_t kept;
    uint32_t before = blocked, bits = 0;
    if (set) {
        kept = *set;
        bits = owned_in(*word_of(&kept));
        if (how != SIG_UNBLOCK)
            *word_of(&kept) &= ~words_for(ALL_OWNED);
    }
    int failed = original(how, set ? &kept : NULL, old);
    if (failed)
        return failed;
    if (set)
        blocked = how == SIG_BLOCK ? before | bits : how == SIG_UNBLOCK ? before & ~bits : bits;
    if (old)
        *word_of(old) |= words_for(before);
    int saved = errno;
    deliver_pending();
    errno = saved;
    return 0;
}

EXPORTED int sigprocmask(int how, const sigset_t *restrict set, sigset_t *restrict old) {
    return change_mask(get_sigprocmask(), how, set, old);
}

EXPORTED int pthread_sigmask(int how, const sigset_t *restrict set, sigset_t *restrict old) {
    return change_mask(get_pthread_sigmask(), how, set, old);
}
