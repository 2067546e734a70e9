/* Unit tests of the quarantine: the oldest first, no place lost or given out twice, whoever is
 * stopped where. */
#include "quarantine.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition, ...)                                                                      \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #condition);                        \
            fprintf(stderr, __VA_ARGS__);                                                          \
            fputc('\n', stderr);                                                                   \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

enum { PLACES = 7, THREADS = 4, ROUNDS = 50000 };
static _Atomic uint64_t entries[PLACES];
static struct quarantine q;

static void fresh(void) {
    for (int i = 0; i < PLACES; i++)
        atomic_store(&entries[i], 0);
    q = (struct quarantine){.entry = entries, .n = PLACES, .in = 1, .out = 1};
}

static void test_the_oldest_first(void) {
    uint32_t place;
    fresh();
    CHECK(!quarantine_take(&q, &place), "empty at first");
    for (uint32_t round = 0; round < 100; round++) {
        for (uint32_t i = 0; i < PLACES; i++)
            quarantine_put(&q, (i + round) % PLACES);
        for (uint32_t i = 0; i < PLACES; i++)
            CHECK(quarantine_take(&q, &place) && place == (i + round) % PLACES, "%u in round %u",
                  place, round);
        CHECK(!quarantine_take(&q, &place), "empty after round %u", round);
    }
}

/* What a thread leaves that is stopped after it drew its turn. */
static void test_a_late_writer_is_passed_over(void) {
    uint32_t place;
    fresh();
    quarantine_put(&q, 3);
    uint64_t late = atomic_fetch_add(&q.in, 1);
    quarantine_put(&q, 5);
    CHECK(quarantine_take(&q, &place) && place == 3, "before it: %u", place);
    CHECK(quarantine_take(&q, &place) && place == 5, "behind it: %u", place);
    CHECK(!quarantine_take(&q, &place), "nothing is left");
    CHECK(atomic_load(&entries[late % PLACES]) >> 20 == late, "the writer can tell");
    for (uint32_t i = 0; i < PLACES; i++) /* all of them, while that turn's entry is spoilt */
        quarantine_put(&q, i);
    for (uint32_t i = 0; i < PLACES; i++)
        CHECK(quarantine_take(&q, &place) && place == i, "%u, wanted %u", place, i);
}

static void test_emptied_with_a_writer_in_the_midst(void) {
    uint32_t place;
    fresh();
    for (uint32_t i = 0; i < 5; i++)
        quarantine_put(&q, i);
    atomic_fetch_add(&q.in, 1);
    quarantine_empty(&q);
    CHECK(!quarantine_take(&q, &place), "empty");
    quarantine_put(&q, 2);
    CHECK(quarantine_take(&q, &place) && place == 2 && !quarantine_take(&q, &place), "%u", place);
}

static _Atomic uint32_t owners[PLACES];

static void *passes_on(void *unused) {
    (void)unused;
    for (int i = 0; i < ROUNDS; i++) {
        uint32_t place;
        if (!quarantine_take(&q, &place))
            continue;
        CHECK(atomic_fetch_add(&owners[place], 1) == 0, "place %u is two threads'", place);
        atomic_fetch_sub(&owners[place], 1);
        quarantine_put(&q, place);
    }
    return NULL;
}

static void test_threads(void) {
    pthread_t thread[THREADS];
    uint32_t place, left = 0;
    fresh();
    for (uint32_t i = 0; i < PLACES; i++)
        quarantine_put(&q, i);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, passes_on, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    for (; quarantine_take(&q, &place); left++)
        CHECK(atomic_fetch_add(&owners[place], 1) == 0, "place %u stands in it twice", place);
    CHECK(left == PLACES, "%u of %d places are left", left, PLACES);
}

int main(void) {
    test_the_oldest_first();
    test_a_late_writer_is_passed_over();
    test_emptied_with_a_writer_in_the_midst();
    test_threads();
    puts("quarantine: the oldest first, late writers, fork, threads: ok");
    return 0;
}
