/* The library of the tiny programs: small objects as any library has them, each with one bug that
 * -DFIXED takes out. Runs in the workloads; knows nothing of holdpoint. */
#ifndef TINY_H
#define TINY_H

#include <pthread.h>
#include <stdbool.h>

/* An object with a reference count. It lives until the last reference is put. */
struct object;
struct object *object_new(int value);
void object_get(struct object *o);
void object_put(struct object *o);
int object_value(const struct object *o);

/* A session that two threads may want to close. */
struct session;
struct session *session_open(void);
bool session_is_open(struct session *s);
void session_close(struct session *s);
void session_drop(struct session *s); /* once nobody uses it */

/* An event: set once, waited for by one thread. */
struct event {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_set;
};
void event_init(struct event *e);
void event_set(struct event *e);
void event_wait(struct event *e);

/* Settings that one thread loads while others already ask for them. */
struct settings {
    int *values;
};
void settings_load(struct settings *s, int value);
int settings_get(struct settings *s, int otherwise);

/* What a thread does between two calls: `ms` milliseconds of something else. */
void other_work(int ms);

/* The line by which a workload says that it came to its end. */
void say_done(void);

#endif
