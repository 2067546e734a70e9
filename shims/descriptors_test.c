/* Unit tests of the table of descriptors: what is a connection, which one it is, what closing and
 * duplicating do to it, and that the tables neither leak nor fill unseen. */
#include "descriptors.h"
#include "engine.h"
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CHECK(condition, ...)                                                                      \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #condition);                        \
            fprintf(stderr, __VA_ARGS__);                                                          \
            fputc('\n', stderr);                                                                   \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

/* What the table asks of the rest of the shim. */
uint16_t engine_hook_index[HOOK_COUNT];
static struct process nobody;
struct process *process = &nobody;
static _Atomic uint32_t full;
void process_table_full(enum board_table table) {
    atomic_fetch_or(&full, (uint32_t)table);
}

static uint64_t number(int fd) {
    const struct connection *c = descriptor_at(fd);
    return c ? atomic_load(&c->number) : 0;
}

static const char *type(int fd) {
    const struct connection *c = descriptor_at(fd);
    return c ? connection_type_name(c) : "none";
}

/* As the hook does it, and as what goes by no hook does. */
static void close_told(int fd) {
    bool in_teardown;
    struct connection *c = descriptor_closes(fd, &in_teardown);
    close(fd);
    if (c)
        connection_drop(c);
}

static void test_what_is_a_connection(void) {
    int p[2], v[2], e = eventfd(0, 0), poller = epoll_create1(0),
                    file = open("/proc/self/stat", O_RDONLY);
    CHECK(!pipe(p) && !socketpair(AF_UNIX, SOCK_SEQPACKET, 0, v) && e >= 0, "%m");
    int d = socket(AF_UNIX, SOCK_DGRAM, 0);
    CHECK(!strcmp(type(p[0]), "pipe") && !strcmp(type(v[0]), "seqpacket") &&
              !strcmp(type(d), "datagram") && !strcmp(type(e), "eventfd") &&
              !strcmp(type(poller), "epoll"),
          "%s %s %s %s %s", type(p[0]), type(v[0]), type(d), type(e), type(poller));
    errno = 77;
    CHECK(!number(file) && !number(-1) && !number(900) && errno == 77, "none: errno %d", errno);
    CHECK(number(p[0]) != number(p[1]) && number(v[0]) != number(v[1]), "ends are two");
    CHECK(atomic_load(&descriptor_at(poller)->order) == 0, "epoll counts as a connection");
    int all[] = {p[0], p[1], v[0], v[1], e, poller, file, d};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        close_told(all[i]);
}

static void test_identity(void) {
    int v[2], e = eventfd(0, 0), e2 = dup(e), other = eventfd(0, 0);
    CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, v), "%m");
    uint64_t first = number(v[0]), peer = number(v[1]);
    int d = dup(v[0]);
    CHECK(first && first != peer && number(d) == first, "a dup is %lu, not %lu", number(d), first);
    CHECK(number(e) == number(e2) && number(e) != number(other), "eventfds");
    close_told(v[0]);
    CHECK(number(d) == first && !number(v[0]), "lives on in its dup");
    int again = dup(d);
    CHECK(again == v[0] && number(again) == first, "and comes back under its number");
    syscall(SYS_close, again);
    int stranger = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK(stranger == again && number(stranger) > peer, "closed unseen: %lu", number(stranger));
    descriptors_closed(0, UINT32_MAX);
    CHECK(number(d) > first, "nothing is left of it once no descriptor is known to lead there");
    int all[] = {v[1], e, e2, other, d, stranger};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        close_told(all[i]);
}

static void test_teardown(void) {
    int v[2];
    bool in_teardown;
    CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, v) && number(v[0]), "%m");
    uint32_t before = atomic_load(descriptor_extent(v[0]));
    CHECK(descriptor_shuts_down(v[0]) && !descriptor_shuts_down(v[0]), "one shutdown opens it");
    CHECK(atomic_load(descriptor_extent(v[0])) == before, "open");
    connection_drop(descriptor_closes(v[0], &in_teardown));
    CHECK(in_teardown && atomic_load(descriptor_extent(v[0])) != before, "over with the close");
    CHECK(number(v[0]) && descriptor_shuts_down(v[0]), "the next may have one");
    before = atomic_load(descriptor_extent(v[0]));
    syscall(SYS_dup2, v[1], v[0]);
    CHECK(number(v[0]) == number(v[1]) && atomic_load(descriptor_extent(v[0])) != before,
          "over when another file is there");
    close_told(v[0]);
    close_told(v[1]);
}

static void test_no_leak(void) {
    for (int i = 0; i < 20000; i++) {
        int v[2], d;
        CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, v) && number(v[0]) && number(v[1]), "%m");
        d = dup(v[0]);
        CHECK(number(d) == number(v[0]), "round %d", i);
        if (i % 2) /* half of them unseen */
            close(v[0]);
        else
            close_told(v[0]);
        close_told(v[1]);
        close_told(d);
    }
    CHECK(!atomic_load(&full), "the table filled");
}

enum { THREADS = 4, ROUNDS = 400, FRESH = 8 };
static pthread_barrier_t together;
static int shared[FRESH];
static uint64_t seen[THREADS][FRESH];

static void *looks(void *which) {
    size_t me = (size_t)(uintptr_t)which;
    for (int round = 0; round < ROUNDS; round++) {
        pthread_barrier_wait(&together);
        for (int i = 0; i < FRESH; i++)
            seen[me][i] = number(shared[i]);
        pthread_barrier_wait(&together);
    }
    return NULL;
}

static void test_first_looks_at_once(void) {
    pthread_t t[THREADS];
    pthread_barrier_init(&together, NULL, THREADS + 1);
    for (uintptr_t i = 0; i < THREADS; i++)
        pthread_create(&t[i], NULL, looks, (void *)i);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < FRESH; i += 2) { /* each under two numbers */
            shared[i] = socket(AF_UNIX, SOCK_STREAM, 0);
            shared[i + 1] = dup(shared[i]);
        }
        pthread_barrier_wait(&together);
        pthread_barrier_wait(&together);
        for (int i = 0; i < FRESH; i++) {
            for (int k = 0; k < THREADS; k++)
                CHECK(seen[k][i] && seen[k][i] == seen[0][i & ~1], "round %d: %lu and %lu", round,
                      seen[k][i], seen[0][i & ~1]);
            close_told(shared[i]);
        }
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    CHECK(!atomic_load(&full), "the table filled");
}

static void test_a_full_table_is_told(void) {
    struct rlimit limit = {5000, 5000};
    CHECK(!setrlimit(RLIMIT_NOFILE, &limit), "%m");
    int file = open("/proc/self/stat", O_RDONLY), s = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK(dup2(file, 4500) == 4500 && !number(4500) && !atomic_load(&full),
          "a file needs no entry");
    CHECK(dup2(s, 4500) == 4500 && !number(4500), "%m");
    CHECK(atomic_exchange(&full, 0) == TABLE_DESCRIPTORS, "beyond the descriptors");
    int last = 0;
    for (int i = 0; i < 2000 && !atomic_load(&full); i++) {
        int v[2];
        CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, v), "%m");
        last = number(v[0]) && number(v[1]) ? v[1] : last;
    }
    CHECK(atomic_load(&full) == TABLE_DESCRIPTORS && number(last), "beyond the connections");
    close_told(last);
    CHECK(number(socket(AF_UNIX, SOCK_STREAM, 0)), "one that ended makes room for another");
}

int main(void) {
    memset(engine_hook_index, 0xff, sizeof engine_hook_index);
    descriptors_start();
    CHECK(!descriptors_watched(), "no plan names a hook");
    engine_hook_index[HOOK_CONN_TEARDOWN] = 0;
    descriptors_start();
    CHECK(descriptors_watched(), "a plan names one");
    test_what_is_a_connection();
    test_identity();
    test_teardown();
    test_no_leak();
    test_first_looks_at_once();
    test_a_full_table_is_told();
    printf("descriptors: what they are, identity, teardown, no leak, first looks at once, full "
           "tables\n");
    return 0;
}
