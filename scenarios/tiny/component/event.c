/* An event. The bug: the waiter looks at the flag before it takes the lock, so a signal that is
 * sent in between wakes nobody, and the waiter sleeps for ever. The fix: look while holding the
 * lock. */
#include "tiny.h"

void event_init(struct event *e) {
    pthread_mutex_init(&e->lock, NULL);
    pthread_cond_init(&e->changed, NULL);
    e->is_set = false;
}

void event_set(struct event *e) {
    pthread_mutex_lock(&e->lock);
    __atomic_store_n(&e->is_set, true, __ATOMIC_RELEASE);
    pthread_cond_signal(&e->changed);
    pthread_mutex_unlock(&e->lock);
}

void event_wait(struct event *e) {
#ifdef FIXED
    pthread_mutex_lock(&e->lock);
    while (!e->is_set)
        pthread_cond_wait(&e->changed, &e->lock);
    pthread_mutex_unlock(&e->lock);
#else
    if (__atomic_load_n(&e->is_set, __ATOMIC_ACQUIRE))
        return;
    pthread_mutex_lock(&e->lock);
    pthread_cond_wait(&e->changed, &e->lock);
    pthread_mutex_unlock(&e->lock);
#endif
}
