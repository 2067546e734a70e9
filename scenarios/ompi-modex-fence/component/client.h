/* A client library of PMIx whose initialisation does what the bug's does: it publishes an address,
 * starts a fence in the background, goes on, may fail, and otherwise waits for the fence, behind
 * which every process has every other's address. Its steps are exported, so that a plan can fail
 * each of them. One thread initialises; the fence's callback runs on PMIx's. */
#ifndef CLIENT_H
#define CLIENT_H

/* 0, or the first error, which is a PMIx status or a step's. After an error the fence may be
 * pending; the caller may initialise once more, as long as all processes of the job do. */
int client_init(void);
void client_finalize(void);

/* The steps of the initialisation that follow the fence's start; 0, or an error. */
int client_open_transport(void);
int client_select_modules(void);
int client_add_peers(void);

/* Who lets the fence's object go; variants with an object on the heap call one of them once. */
struct fence;
void client_free_in_callback(struct fence *f);
void client_free_in_init(struct fence *f);

#endif
