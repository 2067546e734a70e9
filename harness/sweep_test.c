/* Proves: what one element of a sweep changes in its plan, when its fault counts as fired, and when
 * the runs of a sweep end. */
#include "sweep.h"

#include "test_files.h"

static char *folder;

static struct plan *read_text(const char *text) {
    struct complaints c = {0};
    AUTO_TEXT file = test_write_text(folder, "p.yaml", text);
    struct plan *p = plan_read(file, &c);
    CHECK(p && plan_check(p, 1, NULL, &c), "refused: %s", c.text);
    unlink(file);
    if (!p)
        exit(1);
    return p;
}

static const char over[] = "plan: a\npoints:\n  p: {hook: 'call:m!f'}\n  q: {hook: 'call:m!g'}\n"
                           "faults:\n  - {at: q, do: crash}\n  - {at: p, do: fail, return: 1}\n"
                           "  - {at: p, do: fail, return: 2}\nsweep: {point: p, over: [f, h]}\n";
static const char nth[] = "plan: a\npoints:\n  p: {hook: 'call:m!f'}\n"
                          "faults: [{at: p, do: crash, nth: 7}, {at: p, do: stop, nth: 1..}]\n";

static const char byte[] =
    "plan: a\npoints:\n  p: {hook: conn.read}\n"
    "faults: [{at: p, do: sever, byte: 9}, {at: p, do: sever, byte: 1.. by 7}]\n";

static void test_bytes(void) {
    struct plan *p = read_text(byte), *whole = read_text(byte);
    AUTO_TEXT first = sweep_element_name(p, 1);
    AUTO_TEXT last = sweep_element_name(p, SWEEP_MOST_RUNS);
    CHECK(strcmp(first, "byte 1") == 0 && strcmp(last, "byte 6994") == 0, "%s to %s", first, last);
    CHECK(sweep_most(p) == SWEEP_MOST_RUNS && sweep_to_element(p, 3) && p->hash != whole->hash &&
              p->fault[1].bytes == 15 && p->fault[0].bytes == 9 &&
              strcmp(p->fault[1].text, "sever p byte 15") == 0,
          "element 3: byte %u, \"%s\"", p->fault[1].bytes, p->fault[1].text);
    plan_free(p);
    plan_free(whole);
}

static void test_element(void) {
    struct plan *p = read_text(over), *whole = read_text(over);
    AUTO_TEXT name = sweep_element_name(p, 2);
    CHECK(sweep_most(p) == 2 && strcmp(name, "h") == 0, "%d elements, 2 is %s", sweep_most(p),
          name);
    CHECK(!sweep_to_element(p, 0) && !sweep_to_element(p, 3) && p->hash == whole->hash,
          "there is an element 0 or 3");
    CHECK(sweep_to_element(p, 2) && strcmp(p->point[0].function, "h") == 0 &&
              strcmp(p->point[1].function, "g") == 0 && p->hash != whole->hash,
          "element 2");
    CHECK(sweep_most(p) == 0 && !sweep_to_element(p, 1), "an element is a sweep itself");
    uint64_t second = p->hash;
    plan_free(p);
    CHECK(sweep_to_element(whole, 1) && whole->hash != second, "two elements, the same hash");
    plan_free(whole);

    p = read_text(nth);
    AUTO_TEXT third = sweep_element_name(p, 3);
    CHECK(sweep_most(p) == SWEEP_MOST_RUNS && strcmp(third, "nth 3") == 0, "element 3 is %s",
          third);
    CHECK(sweep_to_element(p, 3) && p->fault[1].nth == 3 && p->fault[0].nth == 7 &&
              strcmp(p->fault[1].text, "stop p nth 3") == 0,
          "element 3: nth %u, \"%s\"", p->fault[1].nth, p->fault[1].text);
    plan_free(p);

    p = read_text("plan: a\n");
    CHECK(sweep_most(p) == 0 && sweep_most(NULL) == 0 && !sweep_to_element(p, 1), "no sweep");
    plan_free(p);
}

static uint64_t ended_ns; /* when the steps ended; 0: they did not */
static int ended_rank;    /* of which rank's sequence; -1: the job's */

static bool fires(const char *text, int fault) {
    struct complaints c = {0};
    struct plan *p = read_text(text);
    struct board *b = board_create(folder, p, 1, 1, "t", NULL, &c);
    CHECK(b, "no board: %s", c.text);
    sweep_to_element(p, 1);
    struct board_seq *q = board_seqs(b);
    q->rank = ended_rank;
    q->ended_ns = ended_ns;
    q->state = ended_ns ? (uint64_t)SEQ_TIMEOUT << 32 : 0;
    if (fault >= 0) {
        b->fault_count[fault].fired = 1;
        b->fault_count[fault].ns = 50;
    }
    bool fired = sweep_fired(p, b);
    board_close(b);
    board_remove(folder);
    plan_free(p);
    return fired;
}

static void test_fired(void) {
    ended_rank = -1;
    CHECK(!fires(over, -1) && !fires(over, 0) && fires(over, 1) && fires(over, 2),
          "over: any fault at the swept point, and no other");
    CHECK(!fires(nth, -1) && !fires(nth, 0) && fires(nth, 1), "nth: the fault itself, no other");
    CHECK(!fires(byte, -1) && !fires(byte, 0) && fires(byte, 1), "byte: the fault itself");
    ended_ns = 60;
    CHECK(fires(nth, 1), "the steps ended after it had fired");
    ended_ns = 40;
    CHECK(!fires(nth, 1), "the steps had ended before it fired");
    ended_rank = 1;
    CHECK(fires(nth, 1), "only the steps of another rank had ended");
}

enum { FIRED, NOT, HUNG, FOUND, ERROR };
static struct trial_result result(int how) {
    static const enum verdict verdict[] = {VERDICT_CLEAN, VERDICT_NOT_EXERCISED,
                                           VERDICT_NOT_EXERCISED, VERDICT_OTHER_FINDING,
                                           VERDICT_ERROR};
    return (struct trial_result){
        .verdict = verdict[how], .fired = how == FIRED, .ended = how != HUNG};
}

static void test_end(void) {
    static const struct {
        const char *text;
        int n, how[5];
        enum sweep_end end;
    } row[] = {
        {over, 0, {0}, SWEEP_GOES_ON},
        {over, 1, {NOT}, SWEEP_GOES_ON},
        {over, 2, {NOT, HUNG}, SWEEP_COMPLETE},
        {nth, 0, {0}, SWEEP_GOES_ON},
        {nth, 2, {FIRED, FIRED}, SWEEP_GOES_ON},
        {nth, 2, {FIRED, NOT}, SWEEP_COMPLETE},
        {nth, 1, {NOT}, SWEEP_COMPLETE},
        {nth, 2, {FIRED, HUNG}, SWEEP_GOES_ON},
        {nth, 2, {FIRED, FOUND}, SWEEP_GOES_ON},
        {nth, 4, {FIRED, HUNG, FOUND, ERROR}, SWEEP_STUCK},
        {byte, 2, {FIRED, FIRED}, SWEEP_GOES_ON},
        {byte, 2, {FIRED, NOT}, SWEEP_COMPLETE},
        {byte, 3, {HUNG, HUNG, FOUND}, SWEEP_STUCK},
        {nth, 4, {HUNG, HUNG, FIRED, HUNG}, SWEEP_GOES_ON},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct plan *p = read_text(row[i].text);
        struct trial_result trial[5];
        for (int t = 0; t < row[i].n; t++)
            trial[t] = result(row[i].how[t]);
        enum sweep_end end = sweep_end(p, trial, row[i].n);
        AUTO_TEXT note = sweep_note(p, trial, row[i].n);
        CHECK(end == row[i].end, "row %zu ends as %d, wanted %d", i, end, row[i].end);
        CHECK((end == SWEEP_COMPLETE) == !*note, "row %zu says \"%s\"", i, note);
        plan_free(p);
    }
    struct plan *p = read_text(nth);
    struct trial_result *all = allocate(SWEEP_MOST_RUNS, sizeof *all);
    for (int t = 0; t < SWEEP_MOST_RUNS; t++)
        all[t] = result(FIRED);
    AUTO_TEXT note = sweep_note(p, all, SWEEP_MOST_RUNS);
    CHECK(sweep_end(p, all, SWEEP_MOST_RUNS - 1) == SWEEP_GOES_ON &&
              sweep_end(p, all, SWEEP_MOST_RUNS) == SWEEP_TOO_LONG && strstr(note, "1000 runs"),
          "the most runs: %s", note);
    free(all);
    plan_free(p);
}

static void test_counts(void) {
    static const bool counts[] = {[FIRED] = true, [ERROR] = true, [FOUND] = false};
    for (int how = FIRED; how <= ERROR; how++) {
        struct trial_result r = result(how);
        CHECK(sweep_counts(&r) == counts[how], "whether %d counts", how);
    }
}

int main(void) {
    folder = test_folder();
    test_element();
    test_bytes();
    test_fired();
    test_end();
    test_counts();
    rmdir(folder);
    free(folder);
    if (!test_failures)
        printf("sweep: elements of every kind, what fired, every end\n");
    return test_failures != 0;
}
