"""Hooks conn.*: which calls arrive, which connection each is about, what its faults do, and the bracket of a teardown."""
import pytest

from laboratory import lines, point

HEAD = """
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/uio.h>
#include <poll.h>
#include <fcntl.h>
#include <errno.h>
#include <signal.h>
static int v[2];
static void pair(void) { if (socketpair(AF_UNIX, SOCK_STREAM, 0, v)) _exit(9); }
"""


def test_only_connections_arrive_and_each_call_says_its_name(lab):
    plan = 'plan: p\npoints: {r: {hook: conn.read}, recv: {hook: conn.read, call: recv}, w: {hook: conn.write, type: pipe}}\n' \
           'faults: [{at: r, do: delay, for: 1us}, {at: recv, do: delay, for: 1us}, {at: w, do: delay, for: 1us}]'
    r = lab.run(plan, HEAD + """int main(void) {
        char b[9]; int p[2], f = open("/proc/self/stat", O_RDONLY); pair(); if (pipe(p)) return 1;
        write(v[0], "abc", 3); write(p[1], "abc", 3);
        return read(f, b, 9) != 9 || read(v[1], b, 1) != 1 || recv(v[1], b, 2, 0) != 2 || read(p[0], b, 3) != 3; }""")
    assert r.verdict == "clean" and r.rc == 0, r
    assert [point(r, name)["arrivals"] for name in ("r", "recv", "w")] == [3, 1, 1], r.trial["points"]


@pytest.mark.parametrize("fault, said", [
    ("do: fail, errno: ECONNRESET", "-1 ECONNRESET 3"), ("do: fail, return: 0", "0 3"), ("do: short, bytes: 2", "2 ab 1"),
    ("do: sever, byte: 2", "2 ab 0"), ("do: sever, byte: 0", "0 0")])
def test_faults_of_a_read(lab, fault, said):
    plan = 'plan: p\npoints: {r: {hook: conn.read, call: recv, order: 2}}\nfaults: [{at: r, nth: 1, %s}]' % fault
    r = lab.run(plan.replace("nth: 1, do: sever", "do: sever"), HEAD + """int main(void) {
        char b[9] = ""; pair(); write(v[0], "abc", 3);
        ssize_t n = recv(v[1], b, 3, 0), m;
        char first[40]; snprintf(first, sizeof first, n < 0 ? "%zd %s" : n ? "%zd %s" : "%zd", n, n < 0 ? strerrorname_np(errno) : b);
        m = recv(v[1], b, 3, MSG_DONTWAIT); char s[80]; snprintf(s, sizeof s, "%s %zd", first, m); say(s); return 0; }""")
    assert r.rc == 0 and said in lines(r), (lines(r), r)


@pytest.mark.parametrize("call", ["write(v[0], \"abcdef\", 6)", "send(v[0], \"abcdef\", 6, 0)",
                                  "writev(v[0], (struct iovec[]){{\"abc\", 3}, {\"def\", 3}}, 2)",
                                  "sendmsg(v[0], &(struct msghdr){.msg_iov = (struct iovec[]){{\"abc\", 3}, {\"def\", 3}}, .msg_iovlen = 2}, 0)"])
def test_a_stream_is_cut_at_a_byte_whoever_writes(lab, call):
    plan = 'plan: p\npoints: {w: {hook: conn.write}}\nfaults: [{at: w, do: sever, byte: 4}]'
    r = lab.run(plan, HEAD + """int main(void) {
        char b[9] = "", s[80]; signal(SIGPIPE, SIG_IGN); pair();
        ssize_t n = %s, m = %s; int e = errno; ssize_t got = read(v[1], b, 9), end = read(v[1], b + 4, 4);
        snprintf(s, sizeof s, "%%zd %%zd %%s %%zd %%s %%zd", n, m, strerrorname_np(e), got, b, end); say(s); return 0; }""" % (call, call))
    assert lines(r) == ["4 -1 EPIPE 4 abcd 0"] and r.rc == 0, r


def test_a_broken_pipe_by_fault_raises_sigpipe_unless_it_is_asked_not_to(lab):
    plan = 'plan: p\npoints: {w: {hook: conn.write}}\nfaults: [{at: w, do: fail, errno: EPIPE}]'
    r = lab.run(plan, HEAD + """static volatile int seen; static void on(int s) { (void)s; seen++; }
        int main(void) { signal(SIGPIPE, on); pair(); send(v[0], "a", 1, MSG_NOSIGNAL); say(seen ? "raised" : "quiet");
        write(v[0], "a", 1); say(seen == 1 ? "raised" : "quiet"); return 0; }""")
    assert lines(r) == ["quiet", "raised"] and r.rc == 0, r


TEARDOWN = """
points:
  inside: {hook: lock.acquire, within: conn.teardown}
  first:  {hook: lock.acquire, within: conn.teardown, nth: 1}
  other:  {hook: lock.acquire, within: conn.teardown, not_object_of: first}
  again:  {hook: lock.acquire, within: conn.teardown, object_of: first}
faults: [{at: inside, do: delay, for: 1us}, {at: first, do: delay, for: 1us}, {at: other, do: delay, for: 1us}, {at: again, do: delay, for: 1us}]
"""
LOCKS = """static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, n = PTHREAD_MUTEX_INITIALIZER;
static void lock(pthread_mutex_t *l) { pthread_mutex_lock(l); pthread_mutex_unlock(l); }
static void *closes(void *u) { close(v[0]); return u; }
"""


@pytest.mark.parametrize("body, counts", [
    ("lock(&m); shutdown(v[0], SHUT_WR); lock(&m); lock(&n); lock(&m); close(v[0]); lock(&n);", (3, 1, 1, 2)),
    ("shutdown(v[0], SHUT_WR); shutdown(v[0], SHUT_RD); lock(&n); lock(&m); close(v[1]); lock(&m); close(v[0]); lock(&m);", (3, 1, 2, 1)),
    # closed by another thread: over all the same, also for the one that shut it down
    ("shutdown(v[0], SHUT_WR); lock(&n); pthread_t t; pthread_create(&t, 0, closes, 0); pthread_join(t, 0); lock(&m);", (1, 1, 0, 1)),
    # the number is somebody else's afterwards
    ("shutdown(v[0], SHUT_WR); lock(&n); dup2(v[1], v[0]); lock(&m); close(v[0]); lock(&m);", (1, 1, 0, 1))])
def test_a_teardown_is_from_shutdown_to_close_of_one_descriptor(lab, body, counts):
    r = lab.run("plan: p" + TEARDOWN, HEAD + LOCKS + "int main(void) { pair(); %s return 0; }" % body)
    found = tuple(point(r, name)["arrivals"] for name in ("inside", "first", "other", "again"))
    assert found == counts, (found, r.trial["points"])


def test_a_dup_is_the_same_connection_and_a_number_used_again_is_not(lab):
    plan = 'plan: p\npoints: {one: {hook: conn.write, order: 1}, two: {hook: conn.write, order: 2}, three: {hook: conn.write, order: 3}}\n' \
           'faults: [{at: one, do: delay, for: 1us}, {at: two, do: delay, for: 1us}, {at: three, do: delay, for: 1us}]'
    r = lab.run(plan, HEAD + """int main(void) { pair(); int was = v[0], d = dup(v[0]); write(d, "a", 1); write(v[0], "a", 1); close(d);
        close(v[0]); if (socket(AF_UNIX, SOCK_DGRAM, 0) != was) return 1; write(was, "a", 1); return 0; }""")
    assert [point(r, name)["arrivals"] for name in ("one", "two", "three")] == [2, 0, 1], r.trial["points"]
