"""Programs that use connections behave as without the shim, whether a plan names every hook conn.* or none of them."""
import subprocess

import pytest

from laboratory import lines

HEAD = r"""
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
static int v[2];
static void told(const char *what, long n) { char s[150]; snprintf(s, sizeof s, "%s %ld %s", what, n, n < 0 ? strerrorname_np(errno) : ""); say(s); }
static void pair(int type) { if (socketpair(AF_UNIX, type, 0, v)) _exit(9); }
"""
PROGRAMS = {}
PROGRAMS["tcp-echo"] = r"""
static void *serve(void *l) {
    int c = accept4(*(int *)l, NULL, NULL, SOCK_CLOEXEC); char b[64]; ssize_t n;
    while ((n = recv(c, b, sizeof b, 0)) > 0) send(c, b, (size_t)n, MSG_NOSIGNAL);
    shutdown(c, SHUT_RDWR); close(c); return NULL;
}
int main(void) {
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}; socklen_t size = sizeof a; char b[64] = "";
    int l = socket(AF_INET, SOCK_STREAM, 0); bind(l, (void *)&a, size); listen(l, 5); getsockname(l, (void *)&a, &size);
    pthread_t t = go(serve, &l); int s = socket(AF_INET, SOCK_STREAM, 0); told("connect", connect(s, (void *)&a, size));
    for (int i = 0; i < 100; i++) if (write(s, "round", 5) != 5 || recv(s, b, 5, MSG_WAITALL) != 5) told("cut", i);
    shutdown(s, SHUT_WR); told("end", read(s, b, 9)); told("closed", close(s)); told("again", close(s)); join(t); puts(b); return 0;
}"""
PROGRAMS["unix-datagrams"] = r"""
int main(void) {
    char b[9] = ""; struct sockaddr_un a = {.sun_family = AF_UNIX, .sun_path = "\0holdpoint-test"}, from; socklen_t size = sizeof from;
    int r = socket(AF_UNIX, SOCK_DGRAM, 0), w = socket(AF_UNIX, SOCK_DGRAM, 0); bind(r, (void *)&a, sizeof a);
    told("sendto", sendto(w, "abcdef", 6, 0, (void *)&a, sizeof a)); told("trunc", recvfrom(r, b, 2, MSG_TRUNC, (void *)&from, &size)); puts(b);
    told("from", (long)size); told("none", recv(r, b, 9, MSG_DONTWAIT)); told("not connected", send(w, "a", 1, 0));
    told("connect", connect(w, (void *)&a, sizeof a)); told("send", write(w, "xyz", 3)); told("read", read(r, b, 9)); return 0;
}"""
PROGRAMS["non-blocking"] = r"""
int main(void) {
    static char big[1 << 20]; long sum = 0, n; char b[4096]; pair(SOCK_STREAM); fcntl(v[0], F_SETFL, O_NONBLOCK); fcntl(v[1], F_SETFL, O_NONBLOCK);
    told("empty", read(v[1], b, 9)); while ((n = write(v[0], big, sizeof big)) > 0) sum += n;
    told("full", n); while ((n = read(v[1], b, sizeof b)) > 0) sum -= n;
    told("drained", n); told("left", sum); int p[2]; told("pipe2", pipe2(p, O_NONBLOCK | O_CLOEXEC) ? -1 : 0); told("empty", read(p[0], b, 1));
    errno = 77; told("writes", write(p[1], "a", 1)); told("errno", errno); return 0;
}"""
PROGRAMS["rights"] = r"""
int main(void) { /* a descriptor travels through a socket, with bytes in three pieces */
    int p[2]; pair(SOCK_STREAM); if (pipe(p)) return 1;
    char c[CMSG_SPACE(sizeof(int))] = "", c2[sizeof c] = "", b[9] = "", x[3] = "", y[3] = "";
    struct iovec out[] = {{"ab", 2}, {"", 0}, {"cd", 2}}, in[] = {{x, 1}, {y, 2}, {b, 5}};
    struct msghdr m = {.msg_iov = out, .msg_iovlen = 3, .msg_control = c, .msg_controllen = sizeof c}, got = {.msg_iov = in, .msg_iovlen = 3,
        .msg_control = c2, .msg_controllen = sizeof c2};
    struct cmsghdr *h = CMSG_FIRSTHDR(&m); h->cmsg_level = SOL_SOCKET; h->cmsg_type = SCM_RIGHTS; h->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(h), &p[1], sizeof(int)); told("sendmsg", sendmsg(v[0], &m, 0)); told("recvmsg", recvmsg(v[1], &got, 0));
    int passed; memcpy(&passed, CMSG_DATA(CMSG_FIRSTHDR(&got)), sizeof passed); close(p[1]); told("writes", write(passed, "through", 7));
    char t[9] = ""; told("reads", read(p[0], t, 9)); printf("%s %s %s %s %d %zu\n", x, y, b, t, got.msg_flags, got.msg_controllen); return 0;
}"""
PROGRAMS["closes-all"] = r"""
int main(void) { /* as daemons do: also what was never open */
    int n = 0; pair(SOCK_STREAM); if (dup2(v[0], 700) < 0) return 1;
    for (int fd = 3; fd < 1024; fd++) n += close(fd) == 0; told("closed", n >= 3); told("gone", write(v[0], "a", 1)); pair(SOCK_STREAM);
    told("lowest", v[0]); told("range", close_range(3, ~0U, 0)); told("gone", read(v[1], &n, 1)); closefrom(3); return 0;
}"""
PROGRAMS["large-numbers"] = r"""
int main(void) { /* beyond FD_SETSIZE, for a set that is as large */
    struct timeval none = {0, 0}; static union { fd_set set; char bytes[512]; } s; pair(SOCK_STREAM); struct rlimit most; getrlimit(RLIMIT_NOFILE, &most);
    most.rlim_cur = most.rlim_max; setrlimit(RLIMIT_NOFILE, &most); int high = fcntl(v[1], F_DUPFD, 3000); if (high < 0) return 1;
    s.bytes[high / 8] |= (char)(1 << high % 8); told("selects", select(high + 1, &s.set, NULL, NULL, &none)); told("writes", write(v[0], "a", 1));
    s.bytes[high / 8] |= (char)(1 << high % 8); told("selects", select(high + 1, &s.set, NULL, NULL, &none)); told("closes", close(high)); return 0;
}"""
PROGRAMS["vfork-io"] = r"""
int main(void) {
    int status, p[2]; char b[9] = ""; pair(SOCK_STREAM); if (pipe(p)) return 1;
    pid_t child = vfork(); if (!child) { close(v[0]); dup2(p[1], 9); if (write(9, "child", 5) != 5) _exit(1); close(9); close(p[1]); read(v[1], &status, 0); _exit(4); }
    waitpid(child, &status, 0); told("child", WEXITSTATUS(status)); told("reads", read(p[0], b, 9)); puts(b);
    told("still", write(v[0], "ab", 2)); told("there", read(v[1], b, 9)); told("and", write(p[1], "x", 1)); return 0;
}"""
PROGRAMS["fork-io"] = r"""
int main(void) {
    char b[9] = ""; pair(SOCK_STREAM); pid_t child = fork();
    if (!child) { close(v[0]); ssize_t n = read(v[1], b, 4); _exit(write(v[1], b, (size_t)n) == 4 ? 6 : 1); }
    close(v[1]); told("writes", write(v[0], "ping", 4)); told("reads", recv(v[0], b, 9, 0)); told("end", read(v[0], b, 9));
    int status; waitpid(child, &status, 0); told("child", WEXITSTATUS(status)); return 0;
}"""
PROGRAMS["broken-pipes"] = r"""
static volatile int seen; static void on(int s) { (void)s; seen++; }
int main(void) {
    int p[2]; pair(SOCK_STREAM); signal(SIGPIPE, on); if (pipe(p)) return 1; close(p[0]); close(v[1]);
    told("pipe", write(p[1], "a", 1)); told("seen", seen); told("socket", write(v[0], "a", 1)); told("seen", seen);
    told("quiet", send(v[0], "a", 1, MSG_NOSIGNAL)); told("seen", seen); told("bad", read(v[0], (void *)1, 4)); told("closed", read(99, p, 1));
    pair(SOCK_STREAM); told("faulty", write(v[0], (void *)1, 4)); told("pieces", writev(v[0], (struct iovec[]){{"a", 1}}, -1)); return 0;
}"""
PROGRAMS["waits"] = r"""
static void *tells(void *e) { nap(20); return write(*(int *)e, (uint64_t[]){3}, 8) == 8 ? NULL : e; }
int main(void) {
    int e = eventfd(0, EFD_CLOEXEC), poller = epoll_create1(0), d = dup(e); uint64_t n = 0; struct epoll_event ev = {.events = EPOLLIN}, got; fd_set set;
    struct pollfd p = {.fd = e, .events = POLLIN}; struct timeval none = {0, 0}; told("adds", epoll_ctl(poller, EPOLL_CTL_ADD, e, &ev));
    told("poll", poll(&p, 1, 0)); told("ppoll", ppoll(&p, 1, &(struct timespec){0, 0}, NULL)); FD_ZERO(&set); FD_SET(e, &set);
    told("select", select(e + 1, &set, NULL, NULL, &none)); pthread_t t = go(tells, &d); told("epoll", epoll_wait(poller, &got, 1, 5000)); join(t);
    told("read", read(e, &n, 8)); told("n", (long)n); told("short", read(e, &n, 4)); told("nothing", poll(NULL, 0, 1)); return 0;
}"""
PROGRAMS["fortified"] = r"""
int main(void) {
    char b[16] = ""; volatile size_t n = 5; struct pollfd p[1]; pair(SOCK_STREAM); told("writes", write(v[0], "123451234512345", 15)); p[0].fd = v[1];
    p[0].events = POLLIN; told("poll", poll(p, n - 4, 1000)); told("read", read(v[1], b, n)); told("recv", recv(v[1], b, n, 0));
    told("from", recvfrom(v[1], b, n, 0, NULL, NULL)); puts(b); return 0;
}"""
PROGRAMS["cancelled"] = r"""
static void cleanup(void *x) { (void)x; say("cleanup"); }
static void *t(void *f) { char b[9]; struct pollfd p = {.fd = v[1], .events = POLLIN}; struct iovec i = {b, 9}; struct msghdr m = {.msg_iov = &i, .msg_iovlen = 1};
    pthread_cleanup_push(cleanup, NULL);
    switch ((long)f) { case 0: read(v[1], b, 9); break; case 1: recvmsg(v[1], &m, 0); break; case 2: readv(v[1], &i, 1); break; default: poll(&p, 1, -1); }
    pthread_cleanup_pop(0); say("came back"); return NULL; }
int main(void) {
    pair(SOCK_STREAM); for (long i = 0; i < 4; i++) { void *r; pthread_t h = go(t, (void *)i); nap(30); pthread_cancel(h); pthread_join(h, &r);
        told("cancelled", r == PTHREAD_CANCELED); } return 0;
}"""

HOOKS = [(hook, side) for hook in ("accept", "close", "connect", "poll", "read", "shutdown", "socket", "teardown", "write") for side in ("enter", "return")]
EVERY = "\n".join(["plan: every", "points:", *(f"  {h}_{s}: {{hook: conn.{h}, side: {s}}}" for h, s in HOOKS), "  ends: {hook: process.exit}",
                   "steps: [reach ends]", "faults:", *(f"  - {{at: {h}_{s}, do: delay, for: 1us}}" for h, s in HOOKS), ""])
NONE = "plan: none\npoints: {ends: {hook: process.exit}}\nsteps: [reach ends]\n"


@pytest.mark.parametrize("plan", [EVERY, NONE], ids=["every-hook", "none"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_behaves_as_without_the_shim(lab, name, plan):
    body = HEAD + PROGRAMS[name].replace("go(", "started(")
    start = "static pthread_t started(void *(*f)(void *), void *x) { pthread_t t; if (pthread_create(&t, NULL, f, x)) abort(); return t; }\n"
    program = lab.program(start + body, *(["-O2", "-D_FORTIFY_SOURCE=2"] if name == "fortified" else []))
    without = subprocess.run([program], capture_output=True, text=True, timeout=60, check=False)
    r = lab.holdpoint.exec(plan, program)
    assert lines(r) == without.stdout.splitlines() and without.stdout and without.returncode == 0, (lines(r), without, r)
    assert r.steps["reach ends"] == "done", r
    if plan is EVERY:  # and the hooks saw them
        arrivals = {p["name"]: p["arrivals"] for p in r.trial["points"]}
        seen = {"waits": "poll_return", "large-numbers": "poll_return", "closes-all": "close_enter", "fork-io": "socket_return"}.get(name, "read_enter")
        assert arrivals[seen] > 0, arrivals
