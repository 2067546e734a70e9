"""Detector `heap`: the page guard, and whose the fault signals are under it."""
import pytest

from laboratory import compile_c, lines

DETECT = "plan: heap\ndetect: [heap]\nheap: {from: %s, size: %s}\n"
PLAN = DETECT % ("PROGRAM", "100..200")
NODE = """
struct node { char c[136]; };
static struct node *volatile n;
static struct node *make(void) { struct node *p = malloc(sizeof *p); if (!p) abort(); p->c[40] = 7; return p; }
static int load(void) { return n->c[40]; }
static void store(void) { n->c[41] = 3; }
static void drop(void) { free((void *)n); }
static void *other(void *x) { drop(); return x; }
"""
NOT_WARNED = "-w"


def main(body):
    return NODE + "int main(void) { (void)load; (void)store; (void)drop; (void)other; " + body + " say(\"end\"); return 0; }"


def functions(found, role):
    return [frame["function"] for stack in found["stacks"] if stack["role"] == role for frame in stack["frames"]]


def guarded(result):
    return result.trial["ranks"][0]["guarded"]


def is_clean(result):
    """Nothing was found, by a guard that was alive and had something to guard."""
    process = result.trial["ranks"][0]
    assert result.verdict == "clean" and not result.findings, (result, result.findings)
    return process["live_detectors"] == ["heap"] and process["heap"] == "guard" and process["guarded"] > 0


@pytest.mark.parametrize("use, said", [("load", "a load at"), ("store", "a store at")])
def test_a_use_after_free_is_found_with_three_stacks_and_the_program_goes_on(lab, use, said):
    r = lab.run(PLAN, main(f"n = make(); join(go(other)); {use}(); {use}();"), NOT_WARNED)
    found, = r.findings
    assert r.verdict == "reproduced" and found["kind"] == "heap-use-after-free" and said in found["text"], (r, found)
    assert [stack["role"] for stack in found["stacks"]] == ["use", "free", "alloc"], found
    assert functions(found, "use")[:2] == [use, "main"] and functions(found, "free")[:2] == ["drop", "other"], found
    assert functions(found, "alloc")[:2] == ["make", "main"] and lines(r)[-1] == "end" and r.trial["ranks"][0]["exit"] == 0, r
    assert f"{41 if use == 'store' else 40} bytes inside a block of 136 bytes" in found["text"], found


def test_the_function_is_named_when_its_first_instruction_is_the_guilty_one(lab):
    r = lab.run(PLAN, """
char before(const char *p); __attribute__((noinline)) char before(const char *p) { return (char)(p[0] + 1); }
__attribute__((noinline, aligned(1))) char guilty(const char *p) { return p[3]; }
int main(void) { char *volatile p = malloc(136); before(p); free(p); return guilty(p) == 1; }""", "-O2", NOT_WARNED)
    assert r.kinds == ["heap-use-after-free"] and functions(r.findings[0], "use")[0] == "guilty", r.findings


def test_the_correct_twin_is_clean(lab):
    r = lab.run(PLAN, main("for (int i = 0; i < 50000; i++) { n = make(); load(); drop(); }"), NOT_WARNED)
    assert is_clean(r) and guarded(r) == 50000, r  # more than there are places: the oldest are used again


def test_a_freed_block_stays_closed_while_there_is_other_room(lab):
    r = lab.run(PLAN, main("n = make(); drop(); for (int i = 0; i < 20000; i++) free(make()); load();"), NOT_WARNED)
    assert r.kinds == ["heap-use-after-free"] and functions(r.findings[0], "free")[:2] == ["drop", "main"], (r, r.findings)


def test_without_the_detector_the_same_program_is_clean(lab):
    r = lab.run("plan: none\n", main("n = make(); drop(); load();"), NOT_WARNED)
    assert r.verdict == "clean" and r.trial["ranks"][0]["heap"] is None and guarded(r) == 0, r


def test_a_use_by_a_library_that_was_not_rebuilt(lab):
    body = "static size_t measures(void) { return strlen((char *)n); } static void fills(void) { memset((void *)n, 1, 136); }\n"
    r = lab.run(PLAN, NODE + body + "int main(void) { n = make(); drop(); if (measures() > 999) abort(); n = make(); drop(); fills(); "
                'say("end"); return 0; }', NOT_WARNED, "-fno-builtin")
    uses = sorted(found["signature"].partition(";")[0] for found in r.findings)  # without libc's own frames
    assert uses == ["heap-use-after-free:use=program1!fills<main", "heap-use-after-free:use=program1!measures<main"], r.findings
    assert lines(r)[-1] == "end", r


PLUGIN = """
#include <stdlib.h>
#include <string.h>
char *make_later(void) { return strcpy(malloc(150), "later"); }
void drop_later(char *p) { free(p); }
"""


@pytest.mark.parametrize("mode", ["RTLD_LAZY", "RTLD_NOW", "RTLD_NOW|RTLD_DEEPBIND"])
def test_a_module_that_is_loaded_later(lab, tmp_path, mode):
    (tmp_path / "plugin.c").write_text(PLUGIN)
    plugin = compile_c(tmp_path / "plugin.so", [tmp_path / "plugin.c"], "-shared", "-fPIC", "-fno-builtin")
    body = """
#include <dlfcn.h>
int main(void) {
    void *h = dlopen(PLUGIN, MODE); char *(*make)(void) = dlsym(h, "make_later"); void (*drop)(char *) = dlsym(h, "drop_later");
    char *kept = malloc(150), *p = make(); free(kept); drop(p); return p[0] == 'l' ? 0 : 1;
}"""
    r = lab.run(DETECT % ("plugin.so", 150), body, f'-DPLUGIN="{plugin}"', f"-DMODE={mode}", NOT_WARNED)
    assert r.kinds == ["heap-use-after-free"] and guarded(r) == 1, (r, r.findings)
    assert functions(r.findings[0], "alloc")[0] == "make_later" and functions(r.findings[0], "free")[0] == "drop_later", r.findings


def test_a_call_hook_and_the_guard_live_together(lab):
    plan = PLAN + 'points: {taken: {hook: "call:*!malloc", from: PROGRAM}, given: {hook: "call:*!free", from: PROGRAM}}\n' \
                  "steps: [reach taken, pass given]\n"
    r = lab.run(plan, main("n = make(); drop(); load();"), NOT_WARNED)
    assert r.kinds == ["heap-use-after-free"] and set(r.steps.values()) == {"done"}, (r, r.findings)


@pytest.mark.parametrize("again", ["drop()", "join(go(other))", "realloc((void *)n, 500)"])
def test_a_second_free_is_named_with_both_and_swallowed(lab, again):
    r = lab.run(PLAN, main(f"n = make(); drop(); {again};"), NOT_WARNED)
    assert "double-free" in r.kinds and lines(r)[-1] == "end" and r.trial["ranks"][0]["exit"] == 0, (r, r.findings)
    found = r.findings[r.kinds.index("double-free")]
    assert [stack["role"] for stack in found["stacks"]] == ["use", "free", "alloc"], found
    assert functions(found, "free")[:2] == ["drop", "main"] and functions(found, "alloc")[0] == "make", found


@pytest.mark.parametrize("size, at, said", [(136, 144, "a store at"), (136, 4000, "a store at"), (136, 137, "the free saw"),
                                            (133, 133, "the free saw")])
def test_a_store_behind_the_end(lab, size, at, said):
    r = lab.run(PLAN, f"int main(void) {{ volatile char *p = malloc({size}); p[{at}] = 1; free((void *)p); return 0; }}", NOT_WARNED)
    found, = r.findings
    assert found["kind"] == "heap-corruption" and said in found["text"] and "heap-buffer-overflow" in found["text"], found
    assert f"{at - size} bytes behind the end of a block of {size} bytes" in found["text"] and "main" in functions(found, "alloc"), found


def test_what_is_not_of_the_size_class_is_left_alone(lab):
    r = lab.run(DETECT % ("PROGRAM", 64), main("free(malloc(64)); n = make(); drop(); load();"), NOT_WARNED, "-fno-builtin")
    assert is_clean(r) and guarded(r) == 1, r


@pytest.mark.parametrize("module, reason", [("PROGRAM", "no module 'PROGRAM' allocated 999 bytes"),
                                            ("libnone.so", "none was there that allocates at all")])
def test_a_guard_that_guarded_nothing_is_not_exercised(lab, module, reason):
    r = lab.run(DETECT % (module, 999), main("n = make(); drop();"))
    assert r.verdict == "not-exercised" and reason in r.reason, r


CPLUSPLUS = """
#include <map>
#include <new>
struct big { char c[128]; };
struct alignas(64) wide { char c[192]; };
static int of_map(const volatile char *p) { return *p; }
static int of_wide(const volatile char *p) { return *p; }
static int of_array(const volatile char *p) { return *p; }
int main() {
    std::map<int, big> m; m[1]; const char *in = m[1].c; m.erase(1); of_map(in);
    auto *w = new wide; delete w; of_wide(w->c);
    auto *a = new (std::nothrow) char[150]; delete[] a; of_array(a);
    return (long)a % 16 || (long)w % 64;
}"""


@pytest.mark.parametrize("link", ["-lstdc++", "-static-libstdc++"])
def test_the_forms_of_new_and_delete(lab, link):
    r = lab.holdpoint.exec(DETECT % ("PROGRAM", "120..200"),
                           lab.program(CPLUSPLUS, "-w", "-std=c++17", link, compiler="g++", suffix=".cc"))
    assert r.kinds == ["heap-use-after-free"] * 3 and guarded(r) == 3 and r.trial["ranks"][0]["exit"] == 0, (r, r.findings)


FORMS = """
#include <malloc.h>
static void check(char *p, size_t n) {
    if (!p || malloc_usable_size(p) < n) abort();
    for (size_t i = 0; i < n; i++) p[i] = (char)i;
}
int main(void) {
    char *p = malloc(120), *q; check(p, 120);
    p = realloc(p, 180); for (int i = 0; i < 120; i++) if (p[i] != (char)i) abort();
    p = realloc(p, 4000); for (int i = 0; i < 120; i++) if (p[i] != (char)i) abort();
    p = reallocarray(p, 30, 5); for (int i = 0; i < 120; i++) if (p[i] != (char)i) abort();
    check(p, 150); free(p);
    p = calloc(13, 10); for (int i = 0; i < 130; i++) if (p[i]) abort();
    check(p, 130); p = realloc(p, 0); if (p) abort();
    if (posix_memalign((void **)&p, 256, 160) || (long)p % 256) abort();
    check(p, 160); free(p);
    q = aligned_alloc(64, 128); if ((long)q % 64) abort();
    check(q, 128); free(q); free(NULL);
    size_t room = 150; p = malloc(room); FILE *f = tmpfile(); for (int i = 0; i < 999; i++) fputc('x', f);
    rewind(f); if (getline(&p, &room, f) != 999) abort();
    free(p); errno = 5; free(malloc(130)); return errno != 5;
}"""


def test_the_forms_of_allocation_hold_what_they_promise(lab):
    r = lab.run(PLAN, FORMS, NOT_WARNED, "-fno-builtin")
    assert is_clean(r) and guarded(r) == 8, (r, guarded(r))


def test_of_large_blocks_fewer_are_kept(lab):
    body = """
static long resident(void) { long pages, in = 0; FILE *f = fopen("/proc/self/statm", "r"); if (fscanf(f, "%ld %ld", &pages, &in) != 2) abort();
    fclose(f); return in * 4096 >> 20; }
int main(void) { for (int i = 0; i < 1000; i++) { char *p = malloc(1 << 20); memset(p, 1, 1 << 20); free(p); }
    printf("%s\\n", resident() < 250 ? "little" : "much"); return 0; }"""
    r = lab.run(DETECT % ("PROGRAM", 1 << 20), body, NOT_WARNED, "-fno-builtin")
    assert is_clean(r) and guarded(r) == 1000 and lines(r) == ["little"], r


def test_more_live_blocks_than_the_table_holds_are_an_error(lab):
    r = lab.run(PLAN, main("for (int i = 0; i < 20000; i++) { n = make(); if (load() != 7) return 1; }"), NOT_WARNED)
    assert r.verdict == "error" and "narrower `size:`" in r.reason and guarded(r) == 16384 and lines(r)[-1] == "end", r


# ---- whose the fault signals are ----

HANDLER = """
#include <setjmp.h>
#include <ucontext.h>
static volatile int count; static sigjmp_buf back; static char alternate[65536];
static void *volatile foreign = (void *)8;
static void handle(int number, siginfo_t *info, void *context) {
    sigset_t now; pthread_sigmask(SIG_SETMASK, NULL, &now);
    int here, up = (char *)&here >= alternate && (char *)&here < alternate + sizeof alternate;
    printf("%d %d %p %d %d %d\\n", number, info->si_code, info->si_addr, up, sigismember(&now, SIGSEGV), sigismember(&now, SIGUSR1));
    fflush(stdout); load(); if (++count == 3) _exit(9);
    siglongjmp(back, 1);
}
static void setup(int flags) {
    struct sigaction a = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | flags}, was;
    stack_t s = {.ss_sp = alternate, .ss_size = sizeof alternate}; sigaltstack(&s, NULL);
    sigaddset(&a.sa_mask, SIGUSR1); sigaction(SIGSEGV, &a, &was);
    if (was.sa_handler != SIG_DFL || sigaction(SIGSEGV, NULL, &was) || was.sa_sigaction != handle || (was.sa_flags & a.sa_flags) != a.sa_flags) abort();
    printf("%x\\n", was.sa_flags); fflush(stdout);
}
static void fault(void) { if (!sigsetjmp(back, 1)) *(volatile int *)foreign = 1; }
"""


@pytest.mark.parametrize("flags", ["0", "SA_ONSTACK", "SA_NODEFER", "SA_ONSTACK|SA_RESETHAND"])
def test_the_programs_own_handler_gets_what_is_not_ours_as_it_would_have(lab, flags):
    program = lab.program(NODE + HANDLER + f"int main(void) {{ n = make(); setup({flags}); fault(); drop(); store(); fault(); fault(); "
                          "return 0; }", NOT_WARNED)
    bare = lab.holdpoint.exec("plan: bare\n", program)
    r = lab.holdpoint.exec(PLAN, program)
    assert lines(r) == lines(bare) and len(lines(r)) == (2 if "RESETHAND" in flags else 4), (lines(r), lines(bare))
    assert r.kinds.count("heap-use-after-free") == 1 and "store" in functions(r.findings[0], "use"), (r, r.findings)
    for key in ("exit", "signal"):
        assert r.trial["ranks"][0][key] == bare.trial["ranks"][0][key], r


MASK = """
static void *blocked_in_a_thread(void *x) {
    sigset_t now; pthread_sigmask(SIG_SETMASK, NULL, &now); printf("%d\\n", sigismember(&now, SIGSEGV)); load(); return x;
}
static void ignore(int s) { (void)s; say("handled"); }
int main(void) {
    sigset_t all, was; sigfillset(&all); n = make(); drop(); signal(SIGBUS, ignore);
    pthread_sigmask(SIG_BLOCK, &all, &was); printf("%d\\n", sigismember(&was, SIGSEGV)); store(); join(go(blocked_in_a_thread));
    raise(SIGBUS); say("pending"); sigprocmask(SIG_SETMASK, &was, &all); printf("%d\\n", sigismember(&all, SIGBUS));
    fflush(stdout); WRONG return 0;
}"""


@pytest.mark.parametrize("wrong", ["", "pthread_sigmask(SIG_BLOCK, &all, 0); signal(SIGSEGV, ignore); *(volatile int *)8 = 1;",
                                   "kill(getpid(), SIGSEGV);", "*(volatile int *)8 = 1;"])
def test_a_thread_that_blocks_the_signals_is_guarded_and_sees_its_own_mask(lab, wrong):
    program = lab.program(NODE + MASK.replace("WRONG", wrong), NOT_WARNED)
    bare, r = lab.holdpoint.exec("plan: bare\n", program), lab.holdpoint.exec(PLAN, program)
    assert lines(r) == lines(bare) and "handled" in lines(r) and lines(r).index("pending") < lines(r).index("handled"), lines(r)
    assert "heap-use-after-free" in r.kinds and r.trial["ranks"][0]["signal"] == bare.trial["ranks"][0]["signal"], (r, r.findings)
    assert ("crash" in r.kinds) == bool(wrong), r.kinds


def test_a_handler_of_another_signal_that_blocks_all_is_guarded(lab):
    r = lab.run(PLAN, NODE + """
static void handle(int s) { load(); drop(); sigset_t now; sigprocmask(0, NULL, &now); say(s == SIGUSR1 ? "handled" : "?"); }
int main(void) {
    struct sigaction a = {.sa_handler = handle}, was; sigfillset(&a.sa_mask); sigaction(SIGUSR1, &a, NULL);
    sigaction(SIGUSR1, NULL, &was); if (!sigismember(&was.sa_mask, SIGSEGV)) return 1;
    n = make(); drop(); raise(SIGUSR1); return 0;
}""", NOT_WARNED)
    assert sorted(r.kinds) == ["double-free", "heap-use-after-free"] and "handled" in lines(r), (r, r.findings)
    assert "handle" in functions(r.findings[0], "use") and r.trial["ranks"][0]["exit"] == 0, r.findings


def test_a_handler_set_past_the_c_library_is_an_error(lab):
    r = lab.run(PLAN, main('sigset(SIGSEGV, SIG_DFL); n = make(); drop();'), NOT_WARNED)
    assert r.verdict == "error" and "past sigaction" in r.reason, r


def test_a_small_alternate_stack_is_enough(lab):
    r = lab.run(PLAN, main("static char small[8192]; stack_t s = {.ss_sp = small, .ss_size = sizeof small}; sigaltstack(&s, NULL); "
                           "memset(small, 0, sizeof small); n = make(); drop(); load(); "
                           "int used = 0; for (int i = 0; i < 8192; i++) used += small[i] != 0; if (!used) abort();"), NOT_WARNED)
    assert r.kinds == ["heap-use-after-free"] and lines(r)[-1] == "end" and r.trial["ranks"][0]["exit"] == 0, (r, r.findings)


# ---- fork, exec, threads ----

def test_a_fork_child_goes_on_as_without_us(lab):
    r = lab.run(PLAN, main("""
    struct node *kept = make(); n = make(); drop();
    pid_t child = fork();
    if (!child) { load(); store(); drop(); free(kept); n = make(); drop(); load(); _exit(kept->c[40] == 7 ? 5 : 6); }
    int status; waitpid(child, &status, 0); printf("%d\\n", WEXITSTATUS(status)); fflush(stdout); free(kept); load();"""), NOT_WARNED)
    assert r.kinds == ["heap-use-after-free"] and lines(r) == ["5", "end"], (r, r.findings)


def test_a_fork_child_that_is_followed_is_guarded(lab):
    r = lab.run(PLAN + "follow: children\n", main("""
    pid_t child = fork();
    if (!child) { n = make(); drop(); load(); _exit(0); }
    int status; waitpid(child, &status, 0); n = make(); drop();"""), NOT_WARNED)
    follower = next(process for process in r.trial["ranks"] if process["follower"])
    assert r.kinds == ["heap-use-after-free"] and r.findings[0]["pid"] == follower["pid"] and follower["guarded"] == 1, (r, r.findings)


CROWD = """
static void *crowd(void *x) {
    static struct node *_Atomic shared[64]; unsigned seed = (unsigned)(long)x;
    for (int i = 0; i < 20000; i++) {
        struct node *p = make(); p->c[0] = (char)i; p = atomic_exchange(&shared[rand_r(&seed) % 64], p);
        if (p && p->c[40] != 7) abort();
        free(p);
    }
    return x;
}"""


def test_threads_that_allocate_and_free_each_others_blocks_while_one_forks(lab):
    r = lab.run(PLAN, "#include <stdatomic.h>\n" + NODE + CROWD + """
int main(void) {
    pthread_t t[8]; for (long i = 0; i < 8; i++) pthread_create(&t[i], NULL, crowd, (void *)i);
    for (int i = 0; i < 20; i++) {
        pid_t child = fork(); if (!child) { free(make()); _exit(3); }
        int status; waitpid(child, &status, 0); if (WEXITSTATUS(status) != 3) abort();
    }
    for (int i = 0; i < 8; i++) join(t[i]);
    return 0;
}""", NOT_WARNED)
    assert is_clean(r) and guarded(r) == 160000, (r, guarded(r))


def test_threads_that_use_each_others_freed_blocks_at_once(lab):
    """Whatever each finds open, closed or given out anew: nobody crashes, hangs, or reads what is not there."""
    r = lab.run(PLAN, "#include <stdatomic.h>\n" + NODE + """
static struct node *_Atomic shared[16];
static void *crowd(void *x) {
    unsigned seed = (unsigned)(long)x; long sum = 0; struct node *stale[16] = {0};
    for (int i = 0; i < 40000; i++) {
        struct node **s = &stale[rand_r(&seed) % 16]; if (*s) sum += (*s)->c[40];
        *s = shared[rand_r(&seed) % 16]; struct node *old = atomic_exchange(&shared[rand_r(&seed) % 16], make()); free(old);
    }
    return (void *)sum;
}
int main(void) {
    pthread_t t[6]; for (long i = 0; i < 6; i++) pthread_create(&t[i], NULL, crowd, (void *)i);
    for (int i = 0; i < 6; i++) { void *sum; pthread_join(t[i], &sum); if ((long)sum <= 0 || (long)sum > 7 * 40000) abort(); }
    say("end"); return 0;
}""", NOT_WARNED)
    assert r.kinds == ["heap-use-after-free"] and lines(r) == ["end"] and guarded(r) == 240000, (r, r.findings)


ALLOCATOR = """
#include <stddef.h>
#include <string.h>
static char pool[1 << 22]; static size_t used; int own_frees;
void *malloc(size_t n) { size_t at = __atomic_fetch_add(&used, (n + 31) / 16 * 16, __ATOMIC_SEQ_CST); *(size_t *)(pool + at) = n; return pool + at + 16; }
void free(void *p) { if (p && ((char *)p < pool || (char *)p >= pool + sizeof pool)) __builtin_trap(); own_frees += p != NULL; }
void *calloc(size_t n, size_t m) { return memset(malloc(n * m), 0, n * m); }
void *realloc(void *p, size_t n) { void *q = malloc(n); if (p) memcpy(q, p, ((size_t *)p)[-2] < n ? ((size_t *)p)[-2] : n); return q; }
"""


def test_beside_an_allocator_of_another_library_that_tells_no_sizes(lab, tmp_path):
    (tmp_path / "own.c").write_text(ALLOCATOR)
    own = compile_c(tmp_path / "libown.so", [tmp_path / "own.c"], "-shared", "-fPIC", "-fno-builtin")
    r = lab.run(PLAN.replace("[heap]", "[heap, locks]"), NODE + """
extern int own_frees;
int main(void) {
    char *p = malloc(50); strcpy(p, "kept"); p = realloc(p, 150); p = realloc(p, 300); int before = own_frees; free(p);
    if (strcmp(p, "kept") || own_frees != before + 1) return 1;
    n = make(); n = realloc((void *)n, 160); if (n->c[40] != 7 || own_frees != before + 1) return 2;
    drop(); load(); return own_frees == before + 1 ? 0 : 3;
}""", NOT_WARNED, "-fno-builtin", own, f"-Wl,-rpath,{tmp_path}")
    assert r.kinds == ["heap-use-after-free"] and guarded(r) == 2 and r.trial["ranks"][0]["exit"] == 0, (r, r.findings)


def test_a_signal_handler_may_allocate_and_free_at_any_moment(lab):
    r = lab.run(PLAN, """
#include <sys/time.h>
static volatile int ticks;
static void tick(int s) { char *p = malloc(136); memset(p, s, 136); free(p); ticks++; }
int main(void) {
    signal(SIGALRM, tick); struct itimerval every = {{0, 200}, {0, 200}}; setitimer(ITIMER_REAL, &every, NULL);
    for (int i = 0; i < 60000 || ticks < 100; i++) { char *p = malloc(137); memset(p, 1, 137); if (p[136] != 1) abort(); free(p); }
    return 0;
}""", NOT_WARNED, "-fno-builtin")
    assert is_clean(r) and guarded(r) > 60100, (r, guarded(r))


KERNEL = """
#include <sys/socket.h>
#include <sys/uio.h>
static int s[2];
static void *reads(void *x) { char *p = x; int n = (int)recv(s[0], p, 100, 0); printf("%d %d %c\\n", n, n < 0 ? errno : 0, n < 0 ? '?' : p[0]);
    fflush(stdout); return x; }
int main(void) { socketpair(AF_UNIX, SOCK_STREAM, 0, s); char *p = calloc(1, 136), *more = calloc(1, 136); BODY say("end"); return 0; }
"""


@pytest.mark.parametrize("body, said", [
    ("free(p); if (write(s[1], p, 8) != 8) return 1;", "heap-use-after-free: a load by a system call"),
    ("struct iovec v[2] = {{more, 8}, {p + 8, 8}}; free(p); if (writev(s[1], v, 2) != 16) return 1;",
     "heap-use-after-free: a load by a system call"),
    ("pthread_t t; pthread_create(&t, 0, reads, p); nap(200); free(p); send(s[1], \"xyz\", 3, 0); join(t);",
     "heap-use-after-free: a store by a system call"),
    ("if (write(s[1], p, 200) != 200) return 1;", "heap-buffer-overflow: a load by a system call"),
], ids=["write", "writev", "freed-while-it-reads", "behind-the-end"])
@pytest.mark.parametrize("hooked", ["", "points: {w: {hook: conn.write}, r: {hook: conn.read}}\nfaults: [{at: w, do: delay, for: 1ms}, "
                                        "{at: r, do: delay, for: 1ms, nth: 99}]\n"], ids=["", "hooked"])
def test_a_system_call_on_a_closed_page_is_found_and_answers_as_it_would_have(lab, body, said, hooked):
    program = lab.program(KERNEL.replace("BODY", body), NOT_WARNED)
    bare, r = lab.holdpoint.exec("plan: bare\n", program), lab.holdpoint.exec(PLAN + hooked, program)
    assert lines(r) == lines(bare) and lines(r)[-1] == "end", (lines(r), lines(bare))
    assert len(r.findings) == 1 and r.findings[0]["text"].startswith(said) and "alloc" in [s["role"] for s in r.findings[0]["stacks"]], r.findings


def test_a_mutex_that_is_freed_under_its_owner_is_seen_by_heap_and_by_locks(lab):
    r = lab.run(PLAN.replace("[heap]", "[heap, locks]"), """
static pthread_barrier_t both;
static struct waiter { pthread_mutex_t m; char more[96]; } *w;
static void *owner(void *x) {
    pthread_mutex_t *m = &w->m; pthread_mutex_lock(m); pthread_barrier_wait(&both); pthread_barrier_wait(&both);
    pthread_mutex_unlock(m); return x;
}
int main(void) {
    pthread_barrier_init(&both, 0, 2); w = calloc(1, sizeof *w); pthread_t t = go(owner); pthread_barrier_wait(&both);
    free(w); pthread_barrier_wait(&both); join(t); say("end"); return 0;
}""", NOT_WARNED)
    assert sorted(r.kinds) == ["heap-use-after-free", "lock-misuse", "lock-misuse"] and lines(r)[-1] == "end", (r, r.findings)
    assert functions(r.findings[0], "use")[0] == "owner" and functions(r.findings[0], "free")[0] == "main", r.findings


def test_a_thread_may_free_its_own_name_before_it_is_created(lab):
    """What pthread_create wrote it to is not looked at afterwards, when nobody asks for it."""
    r = lab.run(DETECT % ("PROGRAM", 104), """
struct worker { pthread_t thread; char rest[96]; };
static _Atomic int ended;
static void *work(void *w) { free(w); ended++; return 0; }
int main(void) {
    pthread_attr_t a;
    pthread_attr_init(&a);
    pthread_attr_setdetachstate(&a, PTHREAD_CREATE_DETACHED);
    for (int i = 0; i < 2000; i++) {
        struct worker *w = malloc(sizeof *w);
        if (pthread_create(&w->thread, &a, work, w)) return 1;
        while (ended <= i) sched_yield();
    }
}
""")
    assert r.verdict == "clean" and guarded(r) == 2000, (r, r.findings)


# ---- beside sanitizers, and refusals ----

@pytest.mark.parametrize("sanitizer, name", [("address", "asan"), ("thread", "tsan")])
def test_under_a_sanitizer_the_heap_is_its_own(lab, sanitizer, name):
    r = lab.run(PLAN, main("n = make(); drop(); load();"), f"-fsanitize={sanitizer}", NOT_WARNED)
    assert "heap-use-after-free" in r.kinds and {found["source"] for found in r.findings} == {name}, (r, r.findings)
    clean = lab.run(PLAN, main("n = make(); drop();"), f"-fsanitize={sanitizer}", NOT_WARNED)
    process = clean.trial["ranks"][0]
    assert clean.verdict == "clean" and process["heap"] == name and process["guarded"] == 0, (clean, process)


@pytest.mark.parametrize("plan, words", [
    ("detect: [heap]\n", "add `heap: {from: MODULE, size: BYTES}`"),
    ("heap: {from: PROGRAM, size: 8}\n", "add `detect: [heap]`"),
    ("detect: [heap]\nheap: {from: PROGRAM}\n", "size"),
    ("detect: [heap]\nheap: {from: PROGRAM, size: 200..100}\n", "the least and the most"),
    ("detect: [heap]\nheap: {from: PROGRAM, size: 0}\n", "from 1 to"),
    ("detect: [heap]\nheap: {from: PROGRAM, size: many}\n", "not 'many'"),
])
def test_a_plan_that_does_not_say_what_to_guard_is_refused(lab, plan, words):
    r = lab.holdpoint.call("plan", "check", lab.holdpoint.plan_file("plan: p\n" + plan))
    assert r.rc == 129 and words in r.stderr, r.stderr


def test_a_module_that_the_program_does_not_need_is_warned_about(lab):
    file = lab.holdpoint.plan_file(DETECT % ("libnone.so", 8))
    r = lab.holdpoint.call("plan", "check", file, "--program", lab.program(main("")))
    assert r.rc == 0 and "needs no module 'libnone.so'" in r.stderr and "allocations of libnone.so" in r.stdout, r.stderr
