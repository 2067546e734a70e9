"""The shim beside the sanitizers of both compilers: the runtime stands first, stays live, and still reports."""
import pytest

PLAN = """
plan: sanitized
points:
  back: {hook: "call:libt.so!a", side: return}
  by_caller: {hook: "call:libt.so!b", caller: "*!caller_of_b"}
  starts: {hook: thread.start}
  ends: {hook: thread.exit}
steps: [reach starts, reach ends]
faults: [{at: back, do: delay, for: 1ms}, {at: by_caller, do: fail, return: 5}]
"""
RACE = """
int shared;
int caller_of_b(void) { return b(1) + 0; }
static void *thread(void *unused) { (void)unused; shared += a(1); return NULL; }
int main(void) {
    pthread_t t = go(thread); nap(30); shared += a(2); join(t); printf("b %d\\n", caller_of_b()); return 0;
}"""
OVERFLOW = """
int caller_of_b(void) { return b(1) + 0; }
static void *thread(void *unused) { (void)unused; a(1); return NULL; }
int main(void) {
    pthread_t t = go(thread); join(t);
    char *p = malloc(8); caller_of_b(); free(p); printf("%d\\n", p[a(1)]); return 0;
}"""


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_thread_sanitizer_reports_the_race_of_a_hooked_program(lab, compiler):
    program = lab.program(RACE, "-fsanitize=thread", compiler=compiler)
    r = lab.holdpoint.exec(PLAN, program, arguments=["--sanitizer", "thread"])
    assert r.kinds == ["data-race"] and set(r.steps.values()) == {"done"}, r
    assert "b 5" in r.stdout and r.trial["ranks"][0]["live_detectors"] == ["tsan"], r.stdout


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_address_sanitizer_reports_the_use_after_free_of_a_hooked_program(lab, compiler):
    program = lab.program(OVERFLOW, "-fsanitize=address", compiler=compiler)
    r = lab.holdpoint.exec(PLAN, program, arguments=["--sanitizer", "address"])
    assert r.kinds == ["heap-use-after-free"] and set(r.steps.values()) == {"done"}, r
    assert r.trial["ranks"][0]["live_detectors"] == ["asan"], r.trial["ranks"]


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("sanitizer", ["address", "thread"])
def test_a_sanitizers_own_destructors_are_no_arrivals(lab, sanitizer, compiler):
    body = "static pthread_key_t k; static void end(void *x) { (void)x; } static void *f(void *x) { pthread_setspecific(k, &k); return x; }\n" \
        "int main(void) { pthread_key_create(&k, end); join(go(f)); return 0; }"
    program = lab.program(body, f"-fsanitize={sanitizer}", compiler=compiler)
    r = lab.holdpoint.exec("plan: p\npoints: {x: {hook: thread.exit}}\nfaults: [{at: x, do: delay, for: 1ms}]\n", program)
    assert r.faults[0]["fired"] == 2 and r.verdict == "clean", r.faults  # the exit, and `end`
