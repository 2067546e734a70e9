"""Programs behave under hooks as without: the same output and status, with every function involved hooked on
both sides. The plan's mark proves that the hooks were there."""
import subprocess

import pytest

from laboratory import compile_c, lines

PROGRAMS = {}  # name: (language, functions that are hooked, program)

PROGRAMS["exception"] = ("c++", ["outer_cpp", "a"], r"""
extern "C" { int a(int); }
#include <cstdio>
#include <stdexcept>
#include <string>
int outer_cpp(int, void (*)());
static int depth;
struct Counted { Counted() { depth++; } ~Counted() { depth--; } };
static void thrower() { Counted c; throw std::runtime_error("thrown"); }
int main() {
    for (int i = 0; i < 3; i++) {
        try { Counted c; outer_cpp(i, thrower); puts("not thrown"); }
        catch (const std::exception &e) { printf("caught %s %d %d\n", e.what(), depth, a(i)); }
    }
}""")
PROGRAMS["longjmp"] = ("c", ["call_back", "a"], r"""
#include <setjmp.h>
int call_back(int, void (*)(void));
static jmp_buf back;
static void jumper(void) { longjmp(back, 5); }
int main(void) {
    for (int i = 0; i < 300; i++) { volatile int n = i; int got = setjmp(back); if (!got) call_back(1, jumper); else if (got != 5 || n != i) return 1; }
    printf("jumped %d\n", a(3)); return 0;
}""")
PROGRAMS["fork"] = ("c", ["a", "call_back"], r"""
int call_back(int, void (*)(void));
static pid_t child;
static void forker(void) { child = fork(); }
int main(void) {
    int status; call_back(1, forker);
    if (!child) { a(1); exit(a(7)); }
    waitpid(child, &status, 0); printf("child %d, here %d\n", WEXITSTATUS(status), a(2)); return 0;
}""")
PROGRAMS["exec"] = ("c", ["a"], r"""
int main(int argc, char **argv) {
    if (argc > 1) { printf("second %s %d\n", argv[1], a(9)); return 0; }
    a(1); execl("/proc/self/exe", argv[0], "life", (char *)0); return 1;
}""")
PROGRAMS["failed_exec"] = ("c", ["a"], r"""
int main(void) {
    a(1); execl("/nonexistent", "x", (char *)0); printf("%d ", errno == ENOENT); execvp("/", (char *[]){"x", NULL});
    printf("%d %d\n", errno == EACCES, a(2)); return 0;
}""")
PROGRAMS["vfork"] = ("c", ["a"], r"""
int main(void) {
    int status, before = 11; a(1); pid_t p = vfork();
    if (!p) { execl("/bin/sh", "sh", "-c", "exit 6", (char *)0); _exit(1); }
    waitpid(p, &status, 0); printf("vfork %d %d %d\n", WEXITSTATUS(status), before, a(2));
    p = vfork(); if (!p) _exit(8);
    waitpid(p, &status, 0); printf("vfork _exit %d\n", WEXITSTATUS(status)); return 0;
}""")
PROGRAMS["posix_spawn"] = ("c", ["a"], r"""
#include <spawn.h>
extern char **environ;
int main(void) {
    pid_t p; int status; char *argv[] = {"sh", "-c", "echo preload=[$LD_PRELOAD]; exit 3", NULL}; a(1);
    if (posix_spawn(&p, "/bin/sh", NULL, NULL, argv, environ)) return 1;
    waitpid(p, &status, 0); printf("spawned %d %d\n", WEXITSTATUS(status), a(2));
    fflush(stdout); status = system("exit 5"); printf("system %d\n", WEXITSTATUS(status));
    FILE *f = popen("echo piped", "r"); char line[20]; printf("popen %s", fgets(line, 20, f)); return pclose(f);
}""")
PROGRAMS["pending_cancel"] = ("c", ["a"], r"""
static volatile int cancelled, came_back;
static void *t(void *x) { while (!cancelled); a(1); came_back = 1; pthread_testcancel(); return x; }
int main(void) {
    pthread_t h = go(t); pthread_cancel(h); cancelled = 1; pthread_join(h, NULL);
    printf("a came back %d\n", came_back); return 0; }""")
PROGRAMS["pthread_cancel"] = ("c", ["sleepy", "a"], r"""
static void cleanup(void *x) { printf("cleanup %d\n", a(*(int *)x)); }
static void *t(void *x) { int n = 4; pthread_cleanup_push(cleanup, &n); sleepy(60000); pthread_cleanup_pop(0); return x; }
int main(void) {
    void *result; pthread_t h = go(t); nap(100); pthread_cancel(h); pthread_join(h, &result);
    puts(result == PTHREAD_CANCELED ? "cancelled" : "ended"); return 0;
}""")
PROGRAMS["pthread_exit"] = ("c", ["a", "call_back"], r"""
int call_back(int, void (*)(void));
static pthread_key_t key;
static void destroy(void *x) { printf("key %d\n", a((int)(long)x)); }
static void leave(void) { pthread_exit("left"); }
static void *t(void *x) { pthread_setspecific(key, (void *)12L); call_back(1, leave); return x; }
int main(void) { void *result; pthread_key_create(&key, destroy); pthread_join(go(t), &result); puts(result); return 0; }""")
PROGRAMS["signal"] = ("c", ["a"], r"""
static volatile int seen;
static void handler(int s, siginfo_t *i, void *c) { (void)i; (void)c; errno = 0; seen += a(s); }
int main(void) {
    struct sigaction on = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO}, was; a(1); sigaction(SIGUSR1, &on, NULL); sigaction(SIGUSR1, NULL, &was);
    pthread_t self = pthread_self(); for (int i = 0; i < 5; i++) pthread_kill(self, SIGUSR1);
    sigset_t none; sigemptyset(&none); printf("seen %d same %d\n", seen, was.sa_sigaction == handler);
    errno = 42; a(1); printf("errno %d\n", errno); return 0;
}""")
PROGRAMS["altstack"] = ("c", ["a"], r"""
static char alternative[65536];
static void handler(int s) { char here; printf("on alternative %d\n", a(s) && &here > alternative && &here < alternative + sizeof alternative); }
int main(void) {
    a(1); stack_t st = {.ss_sp = alternative, .ss_size = sizeof alternative}; sigaltstack(&st, NULL);
    struct sigaction on = {.sa_handler = handler, .sa_flags = SA_ONSTACK}; sigaction(SIGUSR2, &on, NULL); raise(SIGUSR2); return a(0);
}""")
PROGRAMS["dlopen"] = ("c", ["a", "dlclose"], r"""
#include <dlfcn.h>
int main(void) {
    for (int i = 0; i < 20; i++) {
        void *h = dlopen("libplug.so", RTLD_NOW | RTLD_LOCAL); if (!h) { puts(dlerror()); return 1; }
        int (*f)(int) = (int (*)(int))dlsym(h, "plug"); if (f(i) != i + 100 || a(i) != i) return 2;
        dlclose(h);
    }
    puts(dlopen("libnone.so", RTLD_NOW) ? "found" : "not found"); return 0;
}""")
PROGRAMS["recursion"] = ("c", ["call_back", "a"], r"""
int call_back(int, void (*)(void));
static int depth;
static void deeper(void) { if (++depth < 200) call_back(1, deeper); }
int main(void) { call_back(1, deeper); printf("depth %d %d\n", depth, a(1)); return 0; }""")
PROGRAMS["small-stack"] = ("c", ["a"], r"""
#include <limits.h>
static void *t(void *x) { for (int i = 0; i < 100; i++) a(i); return x; }
int main(void) {
    pthread_attr_t attr; pthread_attr_init(&attr); pthread_attr_setstacksize(&attr, PTHREAD_STACK_MIN); pthread_t h;
    if (pthread_create(&h, &attr, t, NULL)) return 1;
    join(h); puts("ran on the smallest stack"); return 0;
}""")
PROGRAMS["many-threads"] = ("c", ["a", "b"], r"""
static void *t(void *x) { long n = 0; for (int i = 0; i < 1000; i++) n += a(i) - b(i); return n ? "bad" : x; }
int main(void) {
    for (int round = 0; round < 4; round++) {
        pthread_t h[32]; void *r; for (int i = 0; i < 32; i++) h[i] = go(t);
        for (int i = 0; i < 32; i++) { pthread_join(h[i], &r); if (r) return 1; }
    }
    printf("sum right %d\n", a(1)); return 0;
}""")
PROGRAMS["more-threads-than-rings"] = ("c", ["a", "b"], r"""
static pthread_barrier_t all;
static void *t(void *x) { a(1); pthread_barrier_wait(&all); b(1); return x; }
int main(void) {
    static pthread_t h[300]; pthread_barrier_init(&all, NULL, 300);
    for (int i = 0; i < 300; i++) h[i] = go(t);
    for (int i = 0; i < 300; i++) join(h[i]);
    puts("all ran"); return 0;
}""")
PROGRAMS["backtrace"] = ("c", ["call_back"], r"""
#include <execinfo.h>
int call_back(int, void (*)(void));
static void look(void) { void *f[30]; int n = backtrace(f, 30); char **s = backtrace_symbols(f, n); int mains = 0;
    for (int i = 0; i < n; i++) mains += strstr(s[i], "call_back") != NULL || strstr(s[i], "__libc_start_main") != NULL;
    printf("saw %d\n", mains); }
int main(void) { call_back(1, look); return 0; }""")

COROUTINES = r"""
#include <ucontext.h>
int call_back(int, void (*)(void));
enum { N = 16, STACK = 65536, THREADS = %d };
static struct coroutine { ucontext_t self, *back; int done, busy, at; } co[N];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int left = N, sum;
static __thread struct coroutine *now;
__attribute__((noinline)) static struct coroutine *current(void) { __asm__ volatile("" ::: "memory"); return now; }
static void yield(void) { struct coroutine *c = current(); swapcontext(&c->self, c->back); }
static void routine(void) {
    for (int i = 0; i < 100; i++) { call_back(1, yield); __atomic_fetch_add(&sum, a(1), __ATOMIC_SEQ_CST); }
    current()->done = 1; setcontext(current()->back);
}
static struct coroutine *take(unsigned *turn) {
    struct coroutine *c = NULL; pthread_mutex_lock(&lock);
    for (int i = 0; i < N && !c; i++) { struct coroutine *t = &co[(*turn += 5) %% N]; if (!t->busy && !t->done) { c = t; c->busy = 1; } }
    pthread_mutex_unlock(&lock); return c;
}
static void *worker(void *x) {
    ucontext_t mine; unsigned turn = (unsigned)(long)x;
    while (__atomic_load_n(&left, __ATOMIC_SEQ_CST)) {
        struct coroutine *c = take(&turn); if (!c) continue;
        c->back = &mine; now = c; swapcontext(&mine, &c->self); now = NULL;
        for (int i = 0; i < 100; i++) a(0);
        pthread_mutex_lock(&lock); c->busy = 0; left -= c->done; pthread_mutex_unlock(&lock);
    }
    return NULL;
}
int main(void) {
    static char stacks[N][STACK];
    for (int i = 0; i < N; i++) { getcontext(&co[i].self); co[i].self.uc_stack = (stack_t){.ss_sp = stacks[i], .ss_size = STACK}; makecontext(&co[i].self, routine, 0); }
    pthread_t h[THREADS]; for (long i = 1; i < THREADS; i++) pthread_create(&h[i], NULL, worker, (void *)i);
    worker(NULL); for (int i = 1; i < THREADS; i++) join(h[i]);
    printf("sum %%d\n", sum); return 0;
}"""
PROGRAMS["coroutines"] = ("c", ["call_back", "a"], COROUTINES % 1)
PROGRAMS["coroutines-that-change-threads"] = ("c", ["call_back", "a"], COROUTINES % 4)
PROGRAMS["handler-above-the-frames"] = ("c", ["call_back", "a"], r"""
int call_back(int, void (*)(void));
static volatile int seen;
static void handler(int s) { for (int i = 0; i < 1500; i++) seen += a(s) == s; }
static void raiser(void) { raise(SIGUSR2); }
static void deeper(void) { call_back(1, raiser); }
int main(void) { /* its alternative stack lies above all that it interrupts, on the same mapping */
    char alternative[65536]; stack_t st = {.ss_sp = alternative, .ss_size = sizeof alternative}; sigaltstack(&st, NULL);
    struct sigaction on = {.sa_handler = handler, .sa_flags = SA_ONSTACK}; sigaction(SIGUSR2, &on, NULL);
    a(0); call_back(1, deeper); printf("seen %d\n", seen); return 0;
}""")
PROGRAMS["exceptions-from-many-depths"] = ("c++", ["outer_cpp", "a"], r"""
extern "C" { int a(int); }
#include <cstdio>
#include <stdexcept>
int outer_cpp(int, void (*)());
static int depth, goal, live;
struct Counted { Counted() { live++; } ~Counted() { live--; } };
static void deeper() { Counted c; if (++depth < goal) outer_cpp(1, deeper); else if (goal % 3) throw std::runtime_error("thrown"); }
int main() {
    for (int i = 0; i < 60; i++) { depth = 0; goal = 10 + i * 5; try { outer_cpp(1, deeper); } catch (const std::exception &) { if (live) return 1; } a(1); }
    printf("caught all %d\n", a(1)); return 0;
}""")

LIBRARY = r"""
#ifdef __cplusplus
int outer_cpp(int x, void (*f)()) { f(); return x; }
#endif
"""


def build(lab, name):
    language, functions, text = PROGRAMS[name]
    folder = lab.folder
    (folder / "back.c").write_text("int call_back(int x, void (*f)(void)) { f(); return x; }\n")
    (folder / "plug.c").write_text("int b(int); int plug(int x) { return b(x) + 100; }\n")
    (folder / "cpp.cc").write_text(LIBRARY)
    compile_c(folder / "libback.so", [folder / "back.c"], "-shared", "-fPIC", "-fexceptions")
    compile_c(folder / "libplug.so", [folder / "plug.c"], "-shared", "-fPIC", f"-L{lab.library.parent}", "-lt",
              f"-Wl,-rpath,{lab.library.parent}")
    compile_c(folder / "libcpp.so", [folder / "cpp.cc"], "-shared", "-fPIC", compiler="g++")
    more = [f"-L{folder}", "-Wl,--no-as-needed", "-lback", f"-Wl,-rpath,{folder}"]
    if language == "c++":
        source = folder / "program.cc"
        source.write_text(text)
        program = compile_c(folder / "program", [source], *more, "-lcpp", f"-L{lab.library.parent}", "-lt",
                            f"-Wl,-rpath,{lab.library.parent}", compiler="g++")
    else:
        program = lab.program(text, *more)
    return program, ["_Z9outer_cppiPFvvE" if f == "outer_cpp" else f for f in functions]


def plan_of(functions, more=""):
    """Both sides of each function are points: the first call is held for a moment, or until some call came back."""
    points, faults = [], []
    for i, function in enumerate(functions):
        points += [f'  enter{i}: {{hook: "call:*!{function}"}}', f'  back{i}: {{hook: "call:*!{function}", side: return}}']
        faults += [f"  - {{at: enter{i}, do: hold, until: back{i}, for: 1ms, nth: 1}}"]
    return "\n".join(["plan: transparent", "points:", *points, "steps: [reach enter0]", "faults:", *faults, more])


@pytest.mark.parametrize("name", PROGRAMS)
def test_behaves_as_without_the_shim(lab, name):
    program, functions = build(lab, name)
    without = subprocess.run([program], capture_output=True, text=True, timeout=60, check=False)
    r = lab.holdpoint.exec(plan_of(functions), program)
    assert r.stdout.splitlines()[:len(without.stdout.splitlines())] == without.stdout.splitlines() and without.stdout, r
    assert r.steps["reach enter0"] == "done" and all(fault["fired"] for fault in r.faults), r
    assert without.returncode == 0 and r.verdict == "clean", r


@pytest.mark.parametrize("name", PROGRAMS)
def test_behaves_as_ever_when_the_call_runs_on_a_guarded_stack(lab, name):
    """The first function's; every stack is closed when its call has returned, was left by an exception or a jump, or ended."""
    program, functions = build(lab, name)
    without = subprocess.run([program], capture_output=True, text=True, timeout=60, check=False)
    r = lab.holdpoint.exec(plan_of(functions, "detect: [frames]\nframes: {guard: enter0}\n"), program)
    assert r.stdout.splitlines()[:len(without.stdout.splitlines())] == without.stdout.splitlines(), r
    assert without.returncode == 0 and r.verdict == "clean" and r.trial["ranks"][0]["stacks_guarded"] > 0, r


def test_recursion_deeper_than_the_pool_of_return_probes_is_an_error_and_no_harm(lab):
    (lab.folder / "deep.c").write_text("int through(int (*f)(int), int n) { return f(n) + 1; }\n")
    compile_c(lab.folder / "libdeep.so", [lab.folder / "deep.c"], "-shared", "-fPIC")
    r = lab.run('plan: deep\npoints: {t: {hook: "call:libdeep.so!through", side: return}}\nsteps: [reach t]\n', """
int through(int (*)(int), int);
static int deeper(int n) { return n ? through(deeper, n - 1) : 0; }
int main(void) { int n = deeper(10000); printf("%d %d\\n", n, deeper(20)); return 0; }""",
                f"-L{lab.folder}", "-ldeep", f"-Wl,-rpath,{lab.folder}")
    assert lines(r) == ["10000 20"], r
    assert r.verdict == "error" and "return probes" in r.reason and r.steps["reach t"] == "done", r


def test_the_preload_is_the_ranks_own_and_no_childs(lab):
    r = lab.run("plan: bare", 'int main(void) { return system("echo child=[$LD_PRELOAD]"); }')
    assert "child=[]" in r.stdout and "libholdpoint" not in r.stdout, r


def test_a_preload_of_the_users_own_is_kept(lab):
    r = lab.run("plan: bare", 'int main(void) { return system("echo child=[$LD_PRELOAD]"); }', env={"LD_PRELOAD": str(lab.library)})
    assert f"child=[{lab.library}]" in r.stdout, r


@pytest.mark.parametrize("end", ["return 3", "exit(3)", "_exit(3)", "_Exit(3)", "quick_exit(3)", 'execl("/nonexistent", "x", (char *)0); return 3'])
def test_a_rank_says_itself_how_it_ends(lab, end):
    """To a shell that started it, not to us: only the board knows its exit status."""
    r = lab.holdpoint.exec("plan: bare", ["sh", "-c", '"$@"; exit 0', "sh", "holdpoint", "rank", lab.program(
        "int main(void) { %s; }" % end)], ranks=1)
    assert r.trial["ranks"][0]["exit"] == 3 and "expected exit 0, got 3" in r.reason, r
