/* The rings of a board in order of time; see timeline.h. Pure functions on a board at rest. */
#include "timeline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "allocate.h"
#include "json_text.h"

static const char *const event_names[] = {[EVENT_ARRIVAL] = "arrival",
                                          [EVENT_CLAIM] = "claim",
                                          [EVENT_RELEASE] = "release",
                                          [EVENT_STEP] = "step",
                                          [EVENT_FAULT] = "fault",
                                          [EVENT_FAULT_END] = "fault-end",
                                          [EVENT_ROLE] = "role",
                                          [EVENT_CHECK_IN] = "check-in",
                                          [EVENT_EXIT] = "exit",
                                          [EVENT_THREAD_START] = "thread-start",
                                          [EVENT_THREAD_END] = "thread-end",
                                          [EVENT_PROMISED] = "promised",
                                          [EVENT_DELIVERED] = "delivered",
                                          [EVENT_FRAME_DEAD] = "frame-dead",
                                          [EVENT_BYSTANDER] = "bystander"};
enum { EVENT_NAMES = sizeof event_names / sizeof *event_names };

struct entry {
    const struct board_event *event;
};
struct events {
    struct entry *entry;
    size_t n;
    unsigned wrapped; /* rings that lost their oldest records */
};

static void add_ring(struct events *e, const struct board_ring *ring) {
    if (atomic_load(&ring->head) > BOARD_RING_RECORDS)
        e->wrapped++;
    for (uint32_t i = 0; i < BOARD_RING_RECORDS; i++) {
        const struct board_event *r = &ring->record[i];
        uint64_t number = atomic_load(&r->number);
        /* A writer that was killed in a record leaves one whose number is not its place. */
        if (!number || (number - 1) % BOARD_RING_RECORDS != i || r->kind >= EVENT_NAMES)
            continue;
        e->entry = allocate_again(e->entry, e->n + 1, sizeof *e->entry);
        e->entry[e->n++].event = r;
    }
}

static int by_time(const void *a, const void *b) {
    uint64_t x = ((const struct entry *)a)->event->ns, y = ((const struct entry *)b)->event->ns;
    return (x > y) - (x < y);
}

static void drop_arrivals(struct events *e) {
    size_t kept = 0, excess = e->n > TIMELINE_MOST ? e->n - TIMELINE_MOST : 0;
    for (size_t i = 0; i < e->n; i++) {
        uint16_t kind = e->entry[i].event->kind;
        bool plain = kind == EVENT_ARRIVAL || kind == EVENT_BYSTANDER;
        if (plain && excess)
            excess--;
        else
            e->entry[kept++] = e->entry[i];
    }
    e->n = kept;
}

json_t *timeline_ms(uint64_t ns, uint64_t begin) {
    if (!ns)
        return json_null();
    double ms = ns >= begin ? (double)(ns - begin) / 1e6 : -(double)(begin - ns) / 1e6;
    return json_real(round(ms * 1000) / 1000);
}

static json_t *event_json(const struct board *b, const struct board_event *r, uint64_t begin) {
    json_t *j = json_object();
    json_object_set_new(j, "at_ms", timeline_ms(r->ns, begin));
    json_object_set_new(j, "event", json_string(event_names[r->kind]));
    json_object_set_new(j, "rank", json_integer(r->rank));
    json_object_set_new(j, "pid", json_integer(r->pid));
    json_object_set_new(j, "tid", json_integer(r->tid));
    if (r->point < b->n_points)
        json_object_set_new(j, "point", json_text(board_string(b, b->point[r->point].name)));
    if (r->kind == EVENT_STEP && r->step < b->n_steps)
        json_object_set_new(j, "step", json_text(board_string(b, b->step[r->step].text)));
    if ((r->kind == EVENT_FAULT || r->kind == EVENT_FAULT_END) && r->fault < b->n_faults)
        json_object_set_new(j, "fault", json_text(board_string(b, b->fault[r->fault].text)));
    return j;
}

json_t *timeline_json(const struct board *b, uint64_t begin, char **note) {
    struct events e = {0};
    for (uint32_t i = 0; i < b->n_rings; i++)
        add_ring(&e, &board_rings(b)[i]);
    if (e.n)
        qsort(e.entry, e.n, sizeof *e.entry, by_time);
    size_t all = e.n;
    drop_arrivals(&e);
    size_t first = e.n > TIMELINE_MOST ? e.n - TIMELINE_MOST : 0;
    json_t *list = json_array();
    for (size_t i = first; i < e.n; i++)
        json_array_append_new(list, event_json(b, e.entry[i].event, begin));
    AUTO_TEXT wrapped = e.wrapped
                            ? format_text("%u of %u rings wrapped, so their oldest events are lost",
                                          e.wrapped, b->n_rings)
                            : copy_text("");
    AUTO_TEXT left_out = all > json_array_size(list) ? format_text("%zu of %zu events are left out",
                                                                   all - json_array_size(list), all)
                                                     : copy_text("");
    *note = format_text("%s%s%s", wrapped, *wrapped && *left_out ? "; " : "", left_out);
    free(e.entry);
    return list;
}
