/* Signatures: function names normalised, frames chosen, known signatures matched. */
#include "signature.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "findings.h"

static int failed, checked;
static void check_text(const char *got, const char *wanted, const char *what) {
    checked++;
    if (strcmp(got, wanted) == 0)
        return;
    printf("  FAILED: %s: got %s, wanted %s\n", what, got, wanted);
    failed = 1;
}
static void check(bool ok, const char *what) {
    checked++;
    if (!ok)
        printf("  FAILED: %s\n", what);
    failed |= !ok;
}

static void test_functions(void) {
    static const struct {
        const char *raw, *plain;
    } names[] = {
        {"reader", "reader"},
        {"reader.isra.0", "reader"},
        {"reader.constprop.0.cold", "reader"},
        {"memcpy@@GLIBC_2.14", "memcpy"},
        {"ompi_comm_init@plt", "ompi_comm_init"},
        {"go(mp::Waiter<int>&) [clone .part.0]", "go"},
        {"mp::Waiter<int>::get(std::string const&) const", "mp::Waiter::get"},
        {"std::pair<int, long> make<int, long>(int&&, long&&)", "make"},
        {"operator new[](unsigned long)", "operator new[]"},
        {"operator delete(void*, unsigned long)", "operator delete"},
        {"A::operator()(int) const", "A::operator()"},
        {"A<int>::operator<<(B const&)", "A::operator<<"},
        {"A::operator->() const", "A::operator->"},
        {"main::{lambda(int)#1}::operator()(int) const", "main::{lambda#1}::operator()"},
        {"(anonymous namespace)::hidden(int)", "(anonymous namespace)::hidden"},
        {"A::f() &&", "A::f"},
        {"operators_on", "operators_on"},
        {"my_operator(int)", "my_operator"},
        {"void mp::Connection::~Connection()", "mp::Connection::~Connection"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *plain = signature_function(names[i].raw);
        check_text(plain, names[i].plain, names[i].raw);
        free(plain);
    }
}

static void add(struct finding *f, const char *role, const char *module, const char *function) {
    struct finding_stack *s = NULL;
    for (int i = 0; i < f->n_stacks; i++)
        if (strcmp(f->stack[i].role, role) == 0)
            s = &f->stack[i];
    if (!s)
        s = finding_stack_add(f, role);
    struct finding_frame *frame = finding_frame_add(s);
    frame->module = module ? strdup(module) : NULL;
    frame->function = function ? strdup(function) : NULL;
}

static void test_frames(void) {
    struct finding_list l = {0};
    struct finding *f = findings_add(&l, FINDING_STACK_USE_AFTER_RETURN, "shim");
    add(f, "callback", "/build/libholdpoint.so", "hook_pmix_callback");
    add(f, "callback", "/usr/lib/libmpi.so.40", NULL);
    add(f, "callback", "/usr/lib/libpmix.so.2", "progress");
    add(f, "callback", "/usr/lib/libpmix.so.2", "loop<int>(void*)");
    add(f, "callback", "/usr/lib/libpmix.so.2", "a_fourth_frame");
    add(f, "dead-frame", "/usr/lib/libmpi.so.40", "ompi_mpi_init");
    add(f, "initiator", "/usr/lib/libasan.so.8", "__interceptor_free");
    char *text = signature_of(f);
    check_text(text,
               "stack-use-after-return:callback=libmpi.so.40+?<libpmix.so.2!progress<loop;"
               "dead-frame=libmpi.so.40!ompi_mpi_init",
               "three frames a role, the module once, no frames of the tools");
    free(text);
    findings_clear(&l);
}

static void test_sleep(void) {
    static const enum finding_kind kinds[] = {FINDING_DEADLOCK, FINDING_ASSERTION};
    static const char *const wanted[] = {
        "deadlock:use=app!poster;previous=app!teardown",
        "assertion:use=libc.so.6!__futex_abstimed_wait_common<pthread_cond_wait<app!poster;"
        "previous=libc.so.6!__pthread_mutex_lock<app!teardown"};
    for (int i = 0; i < 2; i++) {
        struct finding_list l = {0};
        struct finding *f = findings_add(&l, kinds[i], "shim");
        add(f, "use", "/lib/libc.so.6", "__futex_abstimed_wait_common");
        add(f, "use", "/lib/libc.so.6", "pthread_cond_wait@@GLIBC_2.3.2");
        add(f, "use", "/opt/app", "poster");
        add(f, "previous", "/lib/libc.so.6", "__pthread_mutex_lock");
        add(f, "previous", "/opt/app", "teardown");
        char *text = signature_of(f);
        check_text(text, wanted[i], "where threads of a deadlock sleep, and only theirs");
        free(text);
        findings_clear(&l);
    }
}

static struct known known_with(const char *id, enum finding_kind kind, const char *role,
                               char **glob, int n) {
    struct known k = {.id = strdup(id), .kind = kind, .n_stacks = n ? 1 : 0};
    k.stack[0].role = strdup(role);
    k.stack[0].glob = glob;
    k.stack[0].n = n;
    return k;
}

static bool matches(enum finding_kind kind, const char *role, char **glob, int n,
                    const struct finding *f) {
    struct known k = known_with("bug#1", kind, role, glob, n);
    struct known_list list = {&k, 1};
    bool found = signature_known(&list, f) != NULL;
    free(k.id);
    free(k.stack[0].role);
    return found;
}

static void test_known(void) {
    struct finding_list l = {0};
    struct finding *f = findings_add(&l, FINDING_DATA_RACE, "tsan");
    add(f, "use", "/opt/libx.so.4", "inner");
    add(f, "use", "/opt/libx.so.4", "middle<int>(long)");
    add(f, "use", NULL, "outer");
    add(f, "previous", "/opt/app", "main");
    check(matches(FINDING_DATA_RACE, "use", (char *[]){"libx.so*!inner", "outer"}, 2, f),
          "globs in order, with a gap");
    check(!matches(FINDING_DATA_RACE, "use", (char *[]){"outer", "inner"}, 2, f),
          "globs out of order");
    check(matches(FINDING_DATA_RACE, "use", (char *[]){"*!middle"}, 1, f), "a normalised name");
    check(!matches(FINDING_DATA_RACE, "use", (char *[]){"liby.so*!inner"}, 1, f), "another module");
    check(!matches(FINDING_DATA_RACE, "use", (char *[]){"app!outer"}, 1, f),
          "a module that is wanted and not known");
    check(matches(FINDING_DATA_RACE, "use", (char *[]){"*!outer"}, 1, f),
          "any module, also unknown");
    check(!matches(FINDING_DEADLOCK, "use", (char *[]){"inner"}, 1, f), "another kind");
    check(!matches(FINDING_DATA_RACE, "free", (char *[]){"inner"}, 1, f),
          "a stack that is not there");
    check(matches(FINDING_DATA_RACE, "use", (char *[]){"app!main"}, 1, f),
          "the two accesses of a race the other way round");
    check(matches(FINDING_DATA_RACE, "use", NULL, 0, f), "a kind alone");
    f->kind = FINDING_HEAP_USE_AFTER_FREE;
    check(!matches(FINDING_HEAP_USE_AFTER_FREE, "use", (char *[]){"app!main"}, 1, f),
          "no swap where the order is no chance");
    findings_clear(&l);
}

/* ---- which findings are one event ---- */

static struct finding *event(struct finding_list *l, enum finding_kind kind, const char *source,
                             int rank, unsigned pid) {
    struct finding *f = findings_add(l, kind, source);
    f->rank = rank;
    f->pid = pid;
    f->text = strdup(source);
    return f;
}

static void merge(struct finding_list *l) {
    for (int i = 0; i < l->n; i++) {
        free(l->finding[i].signature);
        l->finding[i].signature = signature_of(&l->finding[i]);
    }
    findings_merge(l);
}

static void test_merge(void) {
    struct finding_list l = {0};
    event(&l, FINDING_ABORT, "signal", 2, 20);
    event(&l, FINDING_HEAP_USE_AFTER_FREE, "asan", 2, 20);
    merge(&l);
    check(l.n == 1 && strcmp(l.finding[0].source, "asan") == 0, "a report and the abort after it");
    findings_clear(&l);

    event(&l, FINDING_CRASH, "signal", 1, 0);
    add(event(&l, FINDING_CRASH, "signal", 1, 11), "use", "app", "deref");
    event(&l, FINDING_CRASH, "signal", -1, 11);
    merge(&l);
    check(l.n == 2 && l.finding[0].n_stacks == 1,
          "the launcher's words and the block with the stack");
    findings_clear(&l);

    event(&l, FINDING_DOUBLE_FREE, "glibc", 0, 0);
    add(event(&l, FINDING_ABORT, "asan", 0, 5), "use", "app", "drop");
    event(&l, FINDING_ABORT, "signal", 0, 5);
    merge(&l);
    check(l.n == 1 && l.finding[0].kind == FINDING_DOUBLE_FREE && l.finding[0].n_stacks == 1 &&
              l.finding[0].pid == 5,
          "glibc's text takes over stack and process of the abort");
    findings_clear(&l);

    event(&l, FINDING_CRASH, "signal", 0, 5);
    event(&l, FINDING_CRASH, "signal", 1, 6);
    merge(&l);
    check(l.n == 2, "two ranks are two events");
    findings_clear(&l);

    event(&l, FINDING_DATA_RACE, "tsan", 0, 5);
    event(&l, FINDING_DATA_RACE, "tsan", 0, 5);
    event(&l, FINDING_CRASH, "signal", 0, 5);
    merge(&l);
    check(l.n == 2,
          "equal reports are one, and a crash after ThreadSanitizer went on is another event");
    findings_clear(&l);
}

int main(void) {
    test_functions();
    test_frames();
    test_sleep();
    test_known();
    test_merge();
    printf("  %d checks of names, frames, known signatures and events: %s\n", checked,
           failed ? "FAILED" : "ok");
    return failed;
}
