/* The library's public face: a client that makes blocking calls to a server in another process, and
 * that server. Unix stream sockets. */
#ifndef IPC_H
#define IPC_H

struct loop;
struct ipc_client;

enum ipc_operation {
    IPC_PING,      /* answers value + 1 */
    IPC_DIE,       /* the server ends within the call, without an answer */
    IPC_HANG,      /* no answer ever comes */
    IPC_CALL_BACK, /* the server calls back `value` times, and answers the sum of what it was told
                    */
};

/* Its own thread; one for any number of clients. NULL: errno says why. */
struct loop *loop_start(void);
void loop_stop(struct loop *l);

/* The descriptor is the client's from now on. */
struct ipc_client *ipc_client_new(struct loop *l, int fd);
/* Connects to a listener's path. NULL: errno says why. */
struct ipc_client *ipc_client_connect(struct loop *l, const char *path);
/* No call may be in progress. */
void ipc_client_free(struct ipc_client *c);

/* What a callback answers; called on the thread that made the call, and may call itself. */
typedef int ipc_callback(struct ipc_client *c, int value);
/* Any thread; blocks. 0, or -1: the connection is gone (errno ECONNRESET). */
int ipc_call(struct ipc_client *c, enum ipc_operation what, int value, int *result,
             ipc_callback *callback);

/* Serves one connection in the calling process until it ends. */
void ipc_serve(int fd);
/* Accepts and serves the connections of a listener, one after the other, until it is closed; -1 and
 * errno: it cannot listen. */
int ipc_listen(const char *path);

#endif
