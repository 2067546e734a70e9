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
