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
    # one after the other, each with an nth of its own
    ("shutdown(v[0], SHUT_WR); lock(&n); close(v[0]); lock(&m); shutdown(v[1], SHUT_WR); lock(&m); lock(&n); close(v[1]);", (3, 2, 1, 2)),
    # one begins in another and outlasts it; shut down twice is no other one
    ("shutdown(v[0], SHUT_WR); shutdown(v[1], SHUT_WR); lock(&n); close(v[0]); lock(&m); shutdown(v[1], SHUT_RD); close(v[1]); lock(&m);", (2, 1, 1, 1)),
    # closed by another thread: over all the same, also for the one that shut it down
    ("shutdown(v[0], SHUT_WR); lock(&n); pthread_t t; pthread_create(&t, 0, closes, 0); pthread_join(t, 0); lock(&m);", (1, 1, 0, 1)),
    # the number is somebody else's afterwards
    ("shutdown(v[0], SHUT_WR); lock(&n); dup2(v[1], v[0]); lock(&m); close(v[0]); lock(&m);", (1, 1, 0, 1))])
def test_a_teardown_is_from_shutdown_to_close_of_one_descriptor(lab, body, counts):
    r = lab.run("plan: p" + TEARDOWN, HEAD + LOCKS + "int main(void) { pair(); %s return 0; }" % body)
    found = tuple(point(r, name)["arrivals"] for name in ("inside", "first", "other", "again"))
    assert found == counts, (found, r.trial["points"])


@pytest.mark.parametrize("names", [("mark", "same"), ("same", "mark")])
def test_an_object_is_compared_with_the_last_one_wherever_that_point_stands_in_the_plan(lab, names):
    points = {"mark": "hook: conn.write", "same": "hook: conn.write, object_of: mark", "reads": "hook: conn.read, object_of: mark"}
    points = {name: points[name] for name in (*names, "reads")}
    r = lab.run(plan_of(points), HEAD + """int main(void) { char b[9]; pair(); for (int i = 0; i < 5; i++) write(v[i % 2], "a", 1);
        return read(v[0], b, 1) + read(v[1], b, 1) + read(v[0], b, 1) != 3; }""")
    assert counts(r, "mark", "same", "reads") == [5, 5, 2] and r.rc == 0, r.trial["points"]


@pytest.mark.parametrize("closes", ["close(w[i])", "close_range((unsigned)w[i], (unsigned)w[i], 0)", "fclose(fdopen(w[i], \"r\"))"])
def test_each_connection_is_a_new_one_whoever_had_its_number_before(lab, closes):
    r = lab.run(plan_of({"w": "hook: conn.write, origin: pair"}, "  - {at: w, do: sever, byte: 3}\n"), HEAD + '''
    static int odd; static void *opens(void *u) { for (int n = 0; n < 2000; n++) { int w[2]; if (socketpair(AF_UNIX, SOCK_STREAM, 0, w)) abort();
        if (write(w[0], "ab", 2) != 2 || send(w[0], "cdef", 4, MSG_NOSIGNAL) != 1) __atomic_fetch_add(&odd, 1, __ATOMIC_RELAXED);
        for (int i = 0; i < 2; i++) CLOSES; } return u; }
    int main(void) { pthread_t t[8]; for (int i = 0; i < 8; i++) t[i] = go(opens); for (int i = 0; i < 8; i++) join(t[i]);
        char s[40]; snprintf(s, sizeof s, "odd %d", odd); say(s); return 0; }'''.replace("CLOSES", closes))
    assert lines(r) == ["odd 0"] and [f["fired"] for f in r.faults] == [16000], (lines(r), r.faults)


SHORT = """int main(void) { char b[9], s[80]; pair(); long n[6]; write(v[0], "abcdef", 6);
    n[0] = recv(v[1], b, 3, 0); n[1] = recv(v[1], b, 9, MSG_PEEK); n[2] = recv(v[1], b, 3, 0); n[3] = recv(v[1], b, 9, MSG_DONTWAIT);
    write(v[0], "gh", 2); n[4] = recv(v[1], b, 9, 0); write(v[0], "ijklm", 5); n[5] = recv(v[1], b, 9, 0);
    snprintf(s, sizeof s, "%ld %ld %ld %ld %ld %ld", n[0], n[1], n[2], n[3], n[4], n[5]); say(s); return 0; }"""


@pytest.mark.parametrize("which, fired", [("nth: 1", 1), ("nth: 2", 0), ("every: 1", 1)])
def test_a_call_is_short_only_when_something_was_kept_back(lab, which, fired):
    r = lab.run(plan_of({"r": "hook: conn.read"}, "  - {at: r, do: short, bytes: 3, %s}\n" % which), HEAD + SHORT)
    assert lines(r) == ["3 3 3 -1 2 %d" % (3 if fired else 5)] and r.faults[-1]["fired"] == fired, (lines(r), r.faults)


MESSAGES = """
static long moves(long n) { return n < 0 ? -errno : n; }
int main(void) { char b[9] = "", s[80]; signal(SIGPIPE, SIG_IGN); if (socketpair(AF_UNIX, %s, 0, v)) return 9;
    long x = moves(send(v[0], "abcde", 5, MSG_DONTWAIT)), y = moves(send(v[0], "fgh", 3, MSG_DONTWAIT)), z = moves(send(v[0], "i", 1, MSG_DONTWAIT));
    long p = recv(v[1], b, 9, MSG_DONTWAIT), q = recv(v[1], b, 9, MSG_DONTWAIT), e = moves(recv(v[1], b, 9, MSG_DONTWAIT)); (void)e;
    snprintf(s, sizeof s, "%%ld %%ld %%ld %%ld %%ld", x, y, z, p, q); say(s); return 0; }"""


@pytest.mark.parametrize("kind, name", [("SOCK_DGRAM", "datagram"), ("SOCK_SEQPACKET", "seqpacket")])
@pytest.mark.parametrize("faults, said, fired", [
    ("{at: w, do: short, bytes: 2}, {at: r, do: short, bytes: 2}", "5 3 1 5 3", [0, 0]),
    ("{at: w, do: sever, byte: 6}, {at: r, do: delay, for: 1us}", "5 3 -32 5 3", [1, 3]),
    ("{at: r, do: sever, byte: 1}, {at: w, do: delay, for: 1us}", "5 3 1 5 0", [1, 3])])
def test_messages_are_never_cut_in_two(lab, kind, name, faults, said, fired):
    plan = "plan: p\npoints: {w: {hook: conn.write, type: TYPE}, r: {hook: conn.read}}\nfaults: [FAULTS]\n"
    r = lab.run(plan.replace("TYPE", name).replace("FAULTS", faults), HEAD + MESSAGES % kind)
    assert lines(r) == [said] and [f["fired"] for f in r.faults] == fired, (lines(r), r.faults)


def test_a_dup_is_the_same_connection_and_a_number_used_again_is_not(lab):
    plan = 'plan: p\npoints: {one: {hook: conn.write, order: 1}, two: {hook: conn.write, order: 2}, three: {hook: conn.write, order: 3}}\n' \
           'faults: [{at: one, do: delay, for: 1us}, {at: two, do: delay, for: 1us}, {at: three, do: delay, for: 1us}]'
    r = lab.run(plan, HEAD + """int main(void) { pair(); int was = v[0], d = dup(v[0]); write(d, "a", 1); write(v[0], "a", 1); close(d);
        close(v[0]); if (socket(AF_UNIX, SOCK_DGRAM, 0) != was) return 1; write(was, "a", 1); return 0; }""")
    assert [point(r, name)["arrivals"] for name in ("one", "two", "three")] == [2, 0, 1], r.trial["points"]


def plan_of(points, faults="", more=""):
    """Every point is counted: the fault that it has is a delay of nothing much unless `faults` says otherwise."""
    delays = "".join(f"  - {{at: {name}, do: delay, for: 1us}}\n" for name in points if f"at: {name}," not in faults)
    return "plan: p\npoints:\n" + "".join(f"  {name}: {{{text}}}\n" for name, text in points.items()) + f"faults:\n{delays}{faults}{more}"


def counts(result, *names):
    return [point(result, name)["arrivals"] for name in names]


SERVER = """
#include <netinet/in.h>
#include <arpa/inet.h>
static struct sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = "./listens"};
static int connects(void) { int s = socket(AF_UNIX, SOCK_STREAM, 0); if (connect(s, (void *)&name, sizeof name)) _exit(8); return s; }
static int listens(void) { int l = socket(AF_UNIX, SOCK_STREAM, 0); unlink("./listens"); if (bind(l, (void *)&name, sizeof name) || listen(l, 5)) _exit(7); return l; }
"""


def test_an_accept_is_about_its_listener_and_then_about_what_it_made(lab):
    points = {"asked": "hook: conn.accept, type: listener, path: ./lis*", "made": "hook: conn.accept, side: return, type: stream, origin: accepted",
              "first": "hook: conn.accept, side: return, nth: 1", "of_first": "hook: conn.read, object_of: first",
              "of_other": "hook: conn.read, origin: accepted, not_object_of: first", "client": "hook: conn.write, origin: connected, path: ./listens"}
    r = lab.run(plan_of(points), HEAD + SERVER + """int main(void) {
        char b[9]; int l = listens(), c = connects(), s = accept(l, NULL, NULL), d = connects(), t = accept4(l, NULL, NULL, 0);
        write(c, "abc", 3); write(d, "a", 1); return read(s, b, 1) != 1 || read(s, b, 1) != 1 || read(t, b, 9) != 1 || unlink("listens"); }""")
    assert counts(r, *points) == [2, 2, 1, 2, 1, 2] and r.verdict == "clean", r.trial["points"]


def test_a_connect_is_known_by_where_it_goes(lab):
    points = {"unix": "hook: conn.connect, path: '*/listens', peer: '*/listens'", "inet": "hook: conn.connect, peer: '127.0.0.1:9'",
              "inet6": "hook: conn.connect, peer: '[::1]:9'", "sent": "hook: conn.write, peer: '127.0.0.1:9'"}
    r = lab.run(plan_of(points, '  - {at: inet6, do: fail, errno: ETIMEDOUT}\n'), HEAD + SERVER + """int main(void) {
        struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(9), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        struct sockaddr_in6 b = {.sin6_family = AF_INET6, .sin6_port = htons(9), .sin6_addr = IN6ADDR_LOOPBACK_INIT};
        listens(); connects(); int s = socket(AF_INET, SOCK_DGRAM, 0); if (connect(s, (void *)&a, sizeof a)) return 1;
        send(s, "a", 1, 0); return socket(AF_UNIX, SOCK_STREAM, 0) < 0 || connect(s, (void *)&b, sizeof b) != -1 || errno != ETIMEDOUT; }""")
    assert counts(r, *points) == [1, 1, 1, 1] and r.rc == 0, r


def test_how_it_came_into_being_and_who_is_at_the_other_side(lab):
    points = {"pipe": "hook: conn.write, origin: pipe", "inherited": "hook: conn.read, origin: inherited, type: pipe, fd: 0",
              "event": "hook: conn.write, type: eventfd, origin: opened", "child": "hook: conn.write, peer: prog*, origin: accepted",
              "last": "hook: conn.write, order: 6, bytes: 8"}
    r = lab.run(plan_of(points), HEAD + SERVER + """#include <sys/eventfd.h>
    int main(int argc, char **argv) {
        int p[2]; char b[9]; if (pipe(p) || write(p[1], "ab", 2) != 2) return 1;
        if (argc == 1) { dup2(p[0], 0); execl(argv[0], argv[0], "again", (char *)0); return 9; }
        if (read(0, b, 1) != 1 || read(0, b, 1) != 1) return 2;
        int l = listens(); pid_t child = fork(); if (!child) { dup2(connects(), 0); nap(150); execl("/bin/sh", "sh", "-c", "read line; exit 5", (char *)0); _exit(1); }
        int s = accept(l, 0, 0), status, e = eventfd(0, 0); write(e, (uint64_t[]){1}, 8); nap(300); unlink("listens");
        write(s, "hello\\n", 6); waitpid(child, &status, 0); return WEXITSTATUS(status) != 5; }""")
    assert counts(r, *points) == [2, 2, 1, 1, 1] and r.verdict == "clean", (r, r.trial["points"])


def test_a_dup_shares_the_stream_of_its_twin_also_when_that_is_closed(lab):
    points = {"w": "hook: conn.write", "one": "hook: conn.write, order: 1"}
    r = lab.run(plan_of(points, "  - {at: w, do: sever, byte: 6}\n"), HEAD + """int main(void) {
        char b[20] = "", s[80]; signal(SIGPIPE, SIG_IGN); pair(); int d = fcntl(v[0], F_DUPFD_CLOEXEC, 20);
        ssize_t x = write(v[0], "ab", 2), y = write(d, "cd", 2); close(v[0]); int e = dup(d); close(d); ssize_t z = write(e, "efgh", 4), gone = write(e, "i", 1);
        snprintf(s, sizeof s, "%zd %zd %zd %zd %zd %s", x, y, z, gone, read(v[1], b, 20), b); say(s); return 0; }""")
    assert lines(r) == ["2 2 2 -1 6 abcdef"] and counts(r, *points) == [4, 4], r


def test_a_cut_is_one_fault_however_often_the_program_tries_again(lab):
    r = lab.run(plan_of({"w": "hook: conn.write, order: 1", "r": "hook: conn.read"}, "  - {at: w, do: sever, byte: 2}\n"), HEAD + """int main(void) {
        char b[9]; signal(SIGPIPE, SIG_IGN); pair(); write(v[1], "xyz", 3);
        for (int i = 0; i < 4; i++) write(v[0], "ab", 2); return read(v[0], b, 9) != 3 || read(v[0], b, 9) != 0; }""")
    assert [f["fired"] for f in r.faults if "sever" in f["text"]] == [1] and r.rc == 0, r.faults  # what had come before can be read


@pytest.mark.parametrize("end, said", [("read", "3 3 0"), ("write", "3 -1 0")])
def test_an_end_of_a_pipe_is_cut_alone(lab, end, said):
    r = lab.run(plan_of({"read": "hook: conn.read, type: pipe", "write": "hook: conn.write, type: pipe"}, f"  - {{at: {end}, do: sever, byte: 3}}\n"), HEAD + """int main(void) {
        char b[9], s[80]; int p[2]; signal(SIGPIPE, SIG_IGN); if (pipe2(p, O_NONBLOCK)) return 1;
        ssize_t x = write(p[1], "abc", 3), y = write(p[1], "def", 3); read(p[0], b, 3);
        snprintf(s, sizeof s, "%zd %zd %zd", x, y, y > 0 ? read(p[0], b, 3) : 0); say(s); return 0; }""")
    assert lines(r) == [said], r


def test_a_look_ahead_moves_no_stream_and_sees_nothing_behind_the_cut(lab):
    r = lab.run(plan_of({"r": "hook: conn.read"}, "  - {at: r, do: sever, byte: 4}\n"), HEAD + """int main(void) {
        char b[9] = "", s[80]; pair(); write(v[0], "abcdef", 6); ssize_t x = recv(v[1], b, 6, MSG_PEEK), y = recv(v[1], b, 6, MSG_PEEK), z = recv(v[1], b, 2, 0),
        e = recv(v[1], b, 9, MSG_DONTWAIT), end = recv(v[1], b, 9, MSG_PEEK); snprintf(s, sizeof s, "%zd %zd %zd %zd %zd", x, y, z, e, end); say(s); return 0; }""")
    assert lines(r) == ["4 4 2 2 0"], r


def test_a_call_that_moved_nothing_has_not_moved_the_stream(lab):
    r = lab.run(plan_of({"r": "hook: conn.read"}, "  - {at: r, do: sever, byte: 2}\n"), HEAD + """static void on(int s) { (void)s; }
    static void *late(void *t) { nap(100); pthread_kill(*(pthread_t *)t, SIGUSR1); return t; }
    int main(void) {
        char b[9], s[80]; pair(); pthread_t me = pthread_self(), t; struct sigaction a = {.sa_handler = on}; sigaction(SIGUSR1, &a, NULL);
        ssize_t none = recv(v[1], b, 9, MSG_DONTWAIT); int again = errno == EAGAIN; pthread_create(&t, NULL, late, &me);
        ssize_t broken = read(v[1], b, 9); int by_signal = errno == EINTR; pthread_join(t, NULL); write(v[0], "abc", 3);
        snprintf(s, sizeof s, "%zd %d %zd %d %zd", none, again, broken, by_signal, read(v[1], b, 9)); say(s); return 0; }""")
    assert lines(r) == ["-1 1 -1 1 2"], r


@pytest.mark.parametrize("call", ["readv(v[1], list, 200)", "recvmsg(v[1], &m, 0)"])
def test_a_list_of_pieces_is_cut_where_the_stream_is(lab, call):
    r = lab.run(plan_of({"r": "hook: conn.read, bytes: 200"}, "  - {at: r, do: sever, byte: 150}\n"), HEAD + """int main(void) {
        char text[200], b[200] = "", name[40], s[80]; struct iovec list[200]; struct msghdr m = {.msg_name = name, .msg_namelen = 40, .msg_iov = list, .msg_iovlen = 200};
        for (int i = 0; i < 200; i++) { text[i] = (char)i; list[i] = (struct iovec){b + i, 1}; } pair(); write(v[0], text, 200);
        ssize_t x = %s; int same = !memcmp(b, text, 64) && !b[64]; ssize_t y = %s, z = read(v[1], b, 200), end = read(v[1], b, 200);
        snprintf(s, sizeof s, "%%zd %%d %%zd %%zd %%zd %%d", x, same, y, z, end, m.msg_iov == list && m.msg_iovlen == 200); say(s); return 0; }""" % (call, call))
    assert lines(r) == ["64 1 64 22 0 1"], r  # 64 pieces at once are ours; less than was asked is any call's right


def test_events_are_no_stream(lab):
    points = {"w": "hook: conn.write", "r": "hook: conn.read, type: eventfd, order: 1"}
    r = lab.run(plan_of(points, "  - {at: w, do: short, bytes: 3}\n  - {at: w, do: sever, byte: 4}\n"), HEAD + """#include <sys/eventfd.h>
    int main(void) { uint64_t n = 5; int e = eventfd(0, 0), d = dup(e), f = eventfd(0, 0); close(e);
        return write(d, &n, 8) != 8 || write(f, &n, 8) != 8 || read(d, &n, 8) != 8 || n != 5; }""")
    assert all(f["fired"] == 0 for f in r.faults if "delay" not in f["text"]) and counts(r, *points) == [2, 1], r


@pytest.mark.parametrize("call, hook", [("read(v[1], b, 9)", "read"), ("recv(v[1], b, 9, 0)", "read"), ("poll(&f, 1, -1)", "poll"),
                                        ("recvmsg(v[1], &m, 0)", "read"), ("readv(v[1], &i, 1)", "read"), ("accept(l, 0, 0)", "accept")])
def test_a_thread_that_is_cancelled_in_a_call_is_not_within_it_any_more(lab, call, hook):
    points = {"in": f"hook: conn.{hook}", "within": "hook: 'call:libt.so!a', within: in", "a": "hook: 'call:libt.so!a'"}
    r = lab.run(plan_of(points), HEAD + SERVER + """static int l; static void cleanup(void *x) { (void)x; a(1); }
    static void *thread(void *x) { char b[9]; struct pollfd f = {v[1], POLLIN, 0}; struct iovec i = {b, 9}; struct msghdr m = {.msg_iov = &i, .msg_iovlen = 1};
        (void)f; (void)m; pthread_cleanup_push(cleanup, x); %s; pthread_cleanup_pop(0); return x; }
    int main(void) { pair(); l = listens(); pthread_t t = go(thread); nap(150); pthread_cancel(t); join(t); unlink("listens"); return 0; }""" % call)
    assert counts(r, *points) == [1, 0, 1], r.trial["points"]


def test_a_wake_up_is_held_until_the_sleeper_sleeps(lab):
    r = lab.run("plan: wakes\nroles: {loop: {at: conn.poll}}\npoints:\n  wakes: {hook: conn.write, type: pipe, origin: pipe}\n"
                "  sleeps: {hook: conn.poll, type: pipe, side: asleep, role: loop}\nsteps: [reach wakes, reach sleeps, pass wakes]\n", HEAD + """
    static int p[2]; static void *loop(void *x) { nap(200); struct pollfd f = {p[0], POLLIN, 0}; say(poll(&f, 1, 5000) == 1 ? "woken" : "not"); return x; }
    int main(void) { if (pipe(p)) return 1; pthread_t t; pthread_create(&t, NULL, loop, NULL); write(p[1], "", 1); say("written"); pthread_join(t, NULL); return 0; }""")
    assert r.verdict == "clean" and sorted(lines(r)) == ["woken", "written"] and set(r.steps.values()) == {"done"}, r


@pytest.mark.parametrize("call", ["poll(&(struct pollfd){v[1], POLLIN, 0}, 1, 5000)", "ppoll(&(struct pollfd){v[1], POLLIN, 0}, 1, 0, 0)",
                                  "select(v[1] + 1, &set, 0, 0, 0)", "pselect(v[1] + 1, &set, 0, 0, 0, 0)", "epoll_wait(e, &ev, 1, 5000)",
                                  "epoll_pwait(e, &ev, 1, 5000, 0)"])
def test_each_wait_can_be_broken(lab, call):
    name = call.split("(")[0]
    kind = "epoll" if "epoll" in name else "stream"
    r = lab.run(plan_of({"w": f"hook: conn.poll, call: {name}, type: {kind}"}, "  - {at: w, do: fail, errno: EINTR}\n"), HEAD + """
    #include <sys/epoll.h>
    #include <sys/select.h>
    int main(void) { int e = epoll_create1(0); struct epoll_event ev = {0}; fd_set set; FD_ZERO(&set); pair(); FD_SET(v[1], &set); write(v[0], "a", 1);
        (void)e; (void)ev; return %s != -1 || errno != EINTR; }""".replace("    #", "#") % call)
    assert r.rc == 0 and r.verdict == "clean", r


SPAWNS = {
    "posix_spawn": "posix_spawn(&child, self, &act, NULL, args, environ)", "posix_spawnp": "posix_spawnp(&child, self, &act, NULL, args, environ)",
    "execve": "(child = fork()) == 0 && (dup2(v[1], 0), execve(self, args, environ))", "execvp": "(child = fork()) == 0 && (dup2(v[1], 0), execvp(self, args))",
    "execl": '(child = fork()) == 0 && (dup2(v[1], 0), execl(self, self, "server", (char *)0))',
    "vfork": "(child = vfork()) == 0 && (dup2(v[1], 0), execv(self, args))", "forked": "(child = fork()) == 0 && (dup2(v[1], 0), serve(), 0)"}
SPAWNING = """#include <spawn.h>
extern char **environ;
static void serve(void) { /* says whether the shim is in it */
    char b[9], line[400]; int found = 0, mapped = 0; if (read(0, b, 3) != 3 || write(0, "ok", 2) != 2) _exit(1);
    for (char **e = environ; *e; e++) found |= !strncmp(*e, "HOLDPOINT_", 10); FILE *f = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, f)) mapped |= strstr(line, "libholdpoint") != NULL;
    snprintf(line, sizeof line, "server: %%s%%s%%s", getenv("LD_PRELOAD") ? "preload " : "", found ? "environment " : "", mapped ? "mapped" : "not mapped"); say(line); _exit(0); }
int main(int argc, char **argv) {
    if (argc > 1) serve();
    char self[400] = "", b[9] = "", *args[] = {self, "server", NULL}; posix_spawn_file_actions_t act; pid_t child; int status; (void)argv;
    if (readlink("/proc/self/exe", self, 399) < 0) return 1;
    pair(); posix_spawn_file_actions_init(&act); posix_spawn_file_actions_adddup2(&act, v[1], 0); (void)(%s);
    write(v[0], "abc", 3); ssize_t n = read(v[0], b, 2); waitpid(child, &status, 0); return n != 2 || status; }
"""


@pytest.mark.parametrize("how", SPAWNS)
def test_a_server_process_has_no_shim_unless_the_plan_says_so(lab, how):
    points = {"r": "hook: conn.read, bytes: 3", "w": "hook: conn.write, bytes: 2", "own": "hook: conn.read, bytes: 2"}
    program = lab.program(HEAD + SPAWNING % SPAWNS[how])
    r = lab.holdpoint.exec(plan_of(points), program)
    assert counts(r, *points) == [0, 0, 1] and r.rc == 125, r.trial["points"]  # no fault of the server's fired
    said = "server: preload environment mapped" if how == "forked" else "server: not mapped"  # a fork has its parent's memory, and is disarmed
    assert said in lines(r), r
    follows = lab.holdpoint.exec(plan_of(points, more="follow: children\n"), program)
    assert counts(follows, *points) == [1, 1, 1] and follows.verdict == "clean", follows


def test_the_bytes_of_a_conversation_one_run_each(lab):
    plan = "plan: bytes\npoints: {r: {hook: conn.read, origin: pair, fd: 4}}\nfaults: [{at: r, do: sever, byte: %s}]\n"
    program = lab.program(HEAD + """int main(void) {
        char b[9]; int got = 0, n; pair(); if (v[1] != 4) return 3; write(v[0], "abcdefg", 7); close(v[0]);
        while ((n = (int)read(v[1], b, 3)) > 0) got += n; if (got == 5) abort(); return 0; }""")
    r = lab.holdpoint.exec(plan % "1..", program)
    assert [(e["name"], e["fired"], e["verdict"]) for e in r.row["sweep"]["elements"]] == \
        [(f"byte {n}", n <= 7, "other-finding" if n == 5 else "clean" if n <= 7 else "not-exercised") for n in range(1, 9)], r.row["sweep"]
    r = lab.holdpoint.exec(plan % "1.. by 3", program)
    assert [(e["name"], e["fired"]) for e in r.row["sweep"]["elements"]] == [("byte 1", True), ("byte 4", True), ("byte 7", True), ("byte 10", False)], r.row
    assert r.verdict == "clean" and r.row["sweep"]["kind"] == "byte" and "3 of 4 runs fired" in r.stderr, r


@pytest.mark.parametrize("sanitizer, compiler", [("address", "gcc"), ("address", "clang"), ("thread", "gcc"), ("thread", "clang")])
def test_under_a_sanitizer_the_caller_is_the_program_and_the_chain_is_whole(lab, sanitizer, compiler):
    points = {"r": "hook: conn.read, caller: '*!reader'", "w": "hook: conn.write, caller: '*!writer'", "stranger": "hook: conn.read, caller: '*!writer'"}
    program = lab.program(HEAD + """static long reader(char *b) { long n = read(v[1], b, 9); return n + 0; }
    static long writer(void) { long n = write(v[0], "abc", 3); return n + 0; }
    int main(void) { pair(); char *b = malloc(4); if (writer() != 3) return 1; if (reader(b + (getpid() < 0)) == 3) return 2; return 0; }""",
                          f"-fsanitize={sanitizer}", compiler=compiler)
    r = lab.holdpoint.exec(plan_of(points, "  - {at: r, do: fail, errno: ECONNRESET}\n"), program, arguments=["--sanitizer", sanitizer])
    assert counts(r, *points) == [1, 1, 0] and "exit" not in r.reason, r


def test_a_wake_up_from_a_signal_handler_is_counted_and_never_held(lab):
    r = lab.run("plan: handler\npoints:\n  wakes: {hook: conn.write, type: pipe}\n  end: {hook: 'call:libt.so!a'}\nsteps: [reach end, pass wakes]\ntimeout: 8s\n",
                HEAD + """static int p[2]; static void on(int s) { int saved = errno; (void)s; write(p[1], "", 1); errno = saved; }
    int main(void) { char b[9]; if (pipe(p)) return 1; signal(SIGUSR1, on); raise(SIGUSR1); if (read(p[0], b, 1) != 1) return 2; a(1); return write(p[1], "", 1) != 1; }""")
    assert r.verdict == "clean" and point(r, "wakes")["in_handler"] == 1 and r.trial["wall_ms"] < 6000, r
