/* Contexts, and the two who destroy an entry: the thread that exits (context_destroy), and the loop
 * that tears the connection down (entry_disconnected). Variants by the switches in context.h. */
#include "context.h"

#include <stdlib.h>

static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* ---- handles ---- */

/* On the loop's thread, as the connection is torn down. */
static void handle_loses_connection(void *data) {
    struct handle *h = data;
    h->capability = -1;
    pthread_mutex_lock(&h->loop->mutex);
    h->connection = NULL;
    pthread_mutex_unlock(&h->loop->mutex);
}

static void unregister(void *data) {
    struct handle *h = data;
    if (h->on_disconnect && (!RECHECK_ON_LOOP || h->connection))
        connection_remove_cleanup(h->connection, h->on_disconnect);
}

static void give_back(void *data) {
    struct handle *h = data;
    if (h->connection)
        connection_remove_cleanup(h->connection, h->on_teardown);
    h->capability = -1;
}

static void handle_destroy(struct handle *h) {
    if (h->on_disconnect)
        loop_post(h->loop, unregister, h);
    loop_post(h->loop, give_back, h);
}

/* ---- the loop's side ---- */

/* What the loop knows of an entry. */
struct known_entry {
    struct waiter *waiter;
    struct entry **map;
    const struct connection *key;
    struct entry *entry; /* the captured pointer */
};

static struct entry *unlink_entry(const struct known_entry *k) {
    for (struct entry **at = k->map; *at; at = &(*at)->next) {
        struct entry *e = *at;
        if (LOOK_UP_BY_KEY ? e->key != k->key : e != k->entry)
            continue;
        *at = e->next;
        return e;
    }
    return LOOK_UP_BY_KEY ? NULL : k->entry;
}

static void destroy_entry(struct entry *e) {
    if (e->engaged) {
        e->engaged = false;
        handle_destroy(&e->handle);
    }
    free(e);
}

/* The connection is torn down, and with it the entry: unless the thread has taken it. */
static void entry_disconnected(void *data) {
    struct known_entry *k = data;
    if (!LOOK_UP_BY_KEY)
        k->entry->handle.on_disconnect = NULL;
    pthread_mutex_lock(&k->waiter->mutex);
    struct entry *e = unlink_entry(k);
    if (e && LOOK_UP_BY_KEY)
        e->handle.on_disconnect = NULL;
    if (e && !DESTROY_AFTER_RELEASE)
        destroy_entry(e);
    pthread_mutex_unlock(&k->waiter->mutex);
    if (e && DESTROY_AFTER_RELEASE)
        destroy_entry(e);
}

static void add_entry(struct context *t, struct entry **map, struct connection *c) {
    struct entry *e = calloc(1, sizeof *e);
    struct known_entry *k = malloc(sizeof *k);
    if (!e || !k)
        abort();
    e->key = c;
    e->engaged = true;
    e->handle = (struct handle){.loop = c->loop, .connection = c, .capability = 1};
    *k = (struct known_entry){t->waiter, map, c, e};
    e->handle.on_teardown = connection_add_cleanup(c, handle_loses_connection, &e->handle, NULL);
    e->handle.on_disconnect = connection_add_cleanup(c, entry_disconnected, k, free);
    pthread_mutex_lock(&t->waiter->mutex);
    e->next = *map;
    *map = e;
    pthread_mutex_unlock(&t->waiter->mutex);
}

static bool has_entry(struct context *t, struct entry *const *map, const struct connection *c) {
    pthread_mutex_lock(&t->waiter->mutex);
    const struct entry *e = *map;
    while (e && e->key != c)
        e = e->next;
    pthread_mutex_unlock(&t->waiter->mutex);
    return e != NULL;
}

void context_meets(struct context *t, struct connection *c) {
    if (has_entry(t, &t->server_threads, c))
        return;
    add_entry(t, &t->callback_threads, c); /* first, so that it is torn down last */
    add_entry(t, &t->server_threads, c);
}

/* ---- the thread's side ---- */

static void nothing(void *unused) {
    (void)unused;
}

/* FLAG_DECIDES: a flag that is gone already says that the loop is at this entry. */
static bool loop_is_at(struct waiter *w, const struct entry *e) {
    if (!FLAG_DECIDES)
        return false;
    pthread_mutex_lock(&w->mutex);
    bool at = e->handle.on_disconnect == NULL;
    pthread_mutex_unlock(&w->mutex);
    if (at)
        loop_post(e->handle.loop, nothing, NULL); /* it has gone on when this has run */
    return at;
}

static void destroy_entries(struct waiter *w, struct entry *e) {
    while (e) {
        struct entry *next = e->next;
        if (!loop_is_at(w, e)) {
            e->engaged = false;
            handle_destroy(&e->handle);
            free(e);
        }
        e = next;
    }
}

static void free_context(struct context *t) {
    free(t->waiter); /* its mutex and condition need no end of their own, as those of C++ */
    free(t);
}

/* The fix: the maps are swapped out as a whole, so that each entry has one owner. */
static void destroy_swapped(struct context *t) {
    pthread_mutex_lock(&t->waiter->mutex);
    struct entry *servers = t->server_threads, *callbacks = t->callback_threads;
    t->server_threads = t->callback_threads = NULL;
    if (DESTROY_AFTER_RELEASE)
        pthread_mutex_unlock(&t->waiter->mutex);
    destroy_entries(t->waiter, servers);
    destroy_entries(t->waiter, callbacks);
    if (!DESTROY_AFTER_RELEASE)
        pthread_mutex_unlock(&t->waiter->mutex);
}

/* The destructor of the thread's key. */
static void context_destroy(void *data) {
    struct context *t = data;
    if (SWAP_UNDER_LOCK) {
        destroy_swapped(t);
    } else {
        destroy_entries(t->waiter, t->server_threads);
        destroy_entries(t->waiter, t->callback_threads);
    }
    free_context(t);
}

static void make_key(void) {
    if (pthread_key_create(&key, context_destroy))
        abort();
}

struct context *context_mine(void) {
    pthread_once(&once, make_key);
    struct context *t = pthread_getspecific(key);
    if (t)
        return t;
    t = calloc(1, sizeof *t);
    if (!t || !(t->waiter = calloc(1, sizeof *t->waiter)) || pthread_setspecific(key, t))
        abort();
    *t->waiter =
        (struct waiter){.mutex = PTHREAD_MUTEX_INITIALIZER, .news = PTHREAD_COND_INITIALIZER};
    return t;
}

/* ---- the waiter ---- */

void waiter_answer(struct call *k, int result, bool broken) {
    struct waiter *w = k->waiter;
    pthread_mutex_lock(&w->mutex);
    k->result = result;
    k->broken = broken;
    k->done = true;
    pthread_cond_signal(&w->news);
    pthread_mutex_unlock(&w->mutex);
}

void waiter_call_back(struct call *k, const struct frame *f) {
    struct waiter *w = k->waiter;
    pthread_mutex_lock(&w->mutex);
    w->callback = *f;
    w->has_callback = true;
    pthread_cond_signal(&w->news);
    pthread_mutex_unlock(&w->mutex);
}
