"""Detector `frames`, with a library in the place of PMIx that calls back when it is told to."""
import pytest

from laboratory import compile_c

PMIX = """#include <pthread.h>
#include <semaphore.h>
sem_t begin, wake, over;
static void (*call)(int, void *);
static void *data;
static void *progress(void *x) { sem_wait(&begin); call(0, data); sem_post(&wake); sem_post(&over); return x; }
int PMIx_Fence_nb(const void *p, unsigned long n, const void *i, unsigned long m, void (*c)(int, void *), void *d) {
    pthread_t t; (void)p, (void)n, (void)i, (void)m; call = c; data = d; return pthread_create(&t, 0, progress, 0); }
"""
PROGRAM = """#include <semaphore.h>
int PMIx_Fence_nb(const void *, unsigned long, const void *, unsigned long, void (*)(int, void *), void *);
extern sem_t begin, wake, over;
static sem_t awake;
static void callback(int s, void *d) { (void)s, (void)d; %s }
static void begins(void) { volatile char flag[64]; flag[8] = 1; PMIx_Fence_nb(0, 0, 0, 0, callback, (void *)&flag[8]); }
static void writes(void) { volatile char own[4096]; for (int i = 0; i < 4096; i++) own[i] = 7; }
int main(void) { begins(); sem_post(&begin); sem_wait(&wake); writes(); sem_post(&awake); sem_wait(&over); return 0; }
"""


@pytest.mark.parametrize("callback, said", [
    ("*(volatile char *)d = 9;", "the callback stored there"),
    ("", "no store was seen"),
    ("sem_post(&wake); sem_wait(&awake); nap(100);", "no store was seen")], ids=["callback", "nobody", "owner"])
def test_whose_store_into_the_dead_frame_it_was(lab, callback, said):
    """What its owner does there itself, awake again while the callback runs, is not taken for the callback's."""
    (lab.folder / "pmix.c").write_text(PMIX)
    compile_c(lab.folder / "libown.so", [lab.folder / "pmix.c"], "-shared", "-fPIC")
    r = lab.run("plan: own\npoints: {done: {hook: pmix.fence_nb.callback}}\nsteps: [reach done]\ndetect: [frames]\n", PROGRAM % callback,
                f"-L{lab.folder}", "-lown", f"-Wl,-rpath,{lab.folder}")
    assert r.kinds == ["stack-use-after-return"] and said in r.findings[0]["text"] and r.steps["reach done"] == "done", (r, r.findings)


def test_fences_that_many_threads_begin_at_once_find_their_places(lab):
    """Never more than 64 are under way, so the table is never full."""
    (lab.folder / "pmix.c").write_text("""
        int PMIx_Fence_nb(const void *p, unsigned long n, const void *i, unsigned long m, void (*c)(int, void *), void *d) {
            (void)p, (void)n, (void)i, (void)m; c(0, d); return 0; }""")
    compile_c(lab.folder / "libown.so", [lab.folder / "pmix.c"], "-shared", "-fPIC")
    r = lab.run("plan: many\npoints: {done: {hook: pmix.fence_nb.callback}}\nsteps: [reach done]\n", """
        int PMIx_Fence_nb(const void *, unsigned long, const void *, unsigned long, void (*)(int, void *), void *);
        static _Atomic int called;
        static void callback(int s, void *d) { (void)s, (void)d; called++; }
        static void *begins(void *x) { for (int i = 0; i < 100000; i++) PMIx_Fence_nb(0, 0, 0, 0, callback, 0); return x; }
        int main(void) { pthread_t t[8]; for (int i = 0; i < 8; i++) t[i] = go(begins); for (int i = 0; i < 8; i++) join(t[i]); return called != 800000; }""",
                f"-L{lab.folder}", "-lown", f"-Wl,-rpath,{lab.folder}")
    assert r.verdict == "clean", r


# ---- guarded stacks ----

GUARDED = """plan: guarded
points: {begins: {hook: "call:*!begins"}, done: {hook: pmix.fence_nb.callback}}
steps: [reach done]
detect: [frames]
frames: {guard: begins}
"""
UNCALLED = GUARDED.replace(", done: {hook: pmix.fence_nb.callback}", "").replace("reach done", "reach begins")
STOCK = """#include <semaphore.h>
int PMIx_Fence_nb(const void *, unsigned long, const void *, unsigned long, void (*)(int, void *), void *);
char *kept;
void begins(void (*callback)(int, void *), void (*meanwhile)(void));
void begins(void (*callback)(int, void *), void (*meanwhile)(void)) {
    volatile char flag[64]; flag[8] = 1; kept = (char *)&flag[8];
    if (callback) PMIx_Fence_nb(0, 0, 0, 0, callback, (void *)&flag[8]);
    if (meanwhile) meanwhile(); }
"""
DECLARED = """#include <semaphore.h>
void begins(void (*)(int, void *), void (*)(void));
extern sem_t begin, wake, over;
extern char *volatile kept;
static void late(int s, void *d) { (void)s; *(volatile char *)d = 9; }
"""


def guarded(lab, program, *flags, plan=GUARDED, **options):
    """`program` under a plan in which begins() of a stock library runs on a guarded stack."""
    (lab.folder / "pmix.c").write_text(PMIX)
    (lab.folder / "stock.c").write_text(STOCK)
    compile_c(lab.folder / "libown.so", [lab.folder / "pmix.c", lab.folder / "stock.c"], "-shared", "-fPIC")
    return lab.run(plan, DECLARED + program, f"-L{lab.folder}", "-lown", f"-Wl,-rpath,{lab.folder}", *flags, **options)


def functions(finding, role):
    return [frame["function"] for stack in finding["stacks"] if stack["role"] == role for frame in stack["frames"]]


@pytest.mark.parametrize("access, said", [("*(volatile char *)d = 9", "a store there was caught at its instruction"),
                                          ("(void)*(volatile char *)d", "a load from there was caught at its instruction")], ids=["store", "load"])
def test_a_late_access_to_a_guarded_stack_is_caught_at_its_instruction(lab, access, said):
    """And the program goes on as it would have gone."""
    r = guarded(lab, "static void guilty(int s, void *d) { (void)s; %s; }\n"
                     "int main(void) { begins(guilty, 0); sem_post(&begin); sem_wait(&over); return 0; }" % access)
    [f] = r.findings
    assert f["kind"] == "stack-use-after-return" and said in f["text"] and r.steps["reach done"] == "done", (r, r.findings)
    assert functions(f, "use")[0] == "guilty" and "begins" in functions(f, "initiator") and functions(f, "dead-frame")[0] == "begins", f
    assert r.trial["ranks"][0]["exit"] == 0 and r.trial["ranks"][0]["stacks_guarded"] == 1, r.trial["ranks"]


def test_a_callback_that_comes_in_time_is_none(lab):
    r = guarded(lab, "static void in_time(void) { sem_post(&begin); sem_wait(&over); }\nint main(void) { begins(late, in_time); return 0; }")
    assert r.verdict == "clean" and r.steps["reach done"] == "done" and r.trial["ranks"][0]["stacks_guarded"] == 1, r


def test_every_late_callback_is_caught(lab):
    """A stack that was opened for one is closed for the next; each call has a stack of its own."""
    r = guarded(lab, """static void first(int s, void *d) { late(s, d); }
static void again(int s, void *d) { late(s, d); }
int main(void) {
    begins(first, 0); sem_post(&begin); sem_wait(&over);
    begins(late, 0); sem_post(&begin); sem_wait(&over);
    begins(again, 0); sem_post(&begin); sem_wait(&over); return 0; }""", plan=GUARDED.replace("}}", ", nth: 3}}"))
    assert sorted(functions(f, "use")[1] for f in r.findings) == ["again", "first", "progress"], (r, r.findings)
    assert all("caught" in f["text"] for f in r.findings) and r.trial["ranks"][0]["stacks_guarded"] == 3, (r, r.findings)


def test_who_keeps_an_address_without_a_callback_is_caught_too(lab):
    r = guarded(lab, """static void *guilty(void *x) { *kept = 5; return x; }
int main(void) { begins(0, 0); join(go(guilty)); return *kept != 5; }""", plan=UNCALLED)
    stores = [f for f in r.findings if "a store at" in f["text"]]
    assert len(stores) == 1 and functions(stores[0], "use")[0] == "guilty" and functions(stores[0], "dead-frame") == ["begins"], r.findings
    assert "on the stack of a call that had returned" in stores[0]["text"] and r.trial["ranks"][0]["exit"] == 0, r


def test_the_programs_own_handler_is_kept_and_gets_its_own_faults(lab):
    """Open MPI installs one during its initialisation."""
    r = guarded(lab, """#include <setjmp.h>
static sigjmp_buf back; static volatile int own;
static void handler(int s) { (void)s; own++; siglongjmp(back, 1); }
static void installs(void) { signal(SIGSEGV, handler); if (!sigsetjmp(back, 1)) *(volatile int *)16 = 1; }
int main(void) { begins(late, installs); sem_post(&begin); sem_wait(&over); if (!sigsetjmp(back, 1)) *(volatile int *)32 = 1; return own != 2; }""")
    assert r.kinds == ["stack-use-after-return"] and "caught" in r.findings[0]["text"] and r.trial["ranks"][0]["exit"] == 0, (r, r.findings)


def test_an_asan_program_over_a_stock_library_is_blind_and_frames_is_not(lab):
    program = "int main(void) { begins(late, 0); sem_post(&begin); sem_wait(&over); return 0; }"
    blind = guarded(lab, program, "-fsanitize=address", plan="plan: bare\npoints: {done: {hook: pmix.fence_nb.callback}}\nsteps: [reach done]\n")
    r = guarded(lab, program, "-fsanitize=address")
    assert blind.verdict == "clean" and "asan" in blind.trial["ranks"][0]["live_detectors"], blind
    assert r.kinds == ["stack-use-after-return"] and "caught" in r.findings[0]["text"], (r, r.findings)


def test_a_guard_that_no_call_reached_proves_nothing(lab):
    r = guarded(lab, "int main(int n, char **v) { (void)v; if (n > 1) begins(late, 0); return 0; }", plan=UNCALLED.replace("steps: [reach begins]\n", ""))
    assert r.verdict == "not-exercised" and "no call at begins ran on a guarded stack" in r.reason, r
