/* The board as a file: created in full before anything is launched, opened by whoever looks at it
 * later. Runner only; one thread. The magic bytes are written last, so a half-made board is never
 * taken for one. */
#include "plan.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "allocate.h"
#include "board_map.h"

/* ---- where it lies ---- */

/* A shared mapping is only coherent, and a futex only shared, on a local file system. The last four
 * are not in linux/magic.h: their own file systems' sources name them. */
static bool on_network(const char *dir) {
    static const uint32_t network[] = {
        NFS_SUPER_MAGIC,
        SMB_SUPER_MAGIC,
        SMB2_SUPER_MAGIC,
        0xff534d42u /* CIFS */,
        FUSE_SUPER_MAGIC,
        CEPH_SUPER_MAGIC,
        V9FS_MAGIC,
        AFS_SUPER_MAGIC,
        0x0bd00bd0u /* Lustre */,
        0x47504653u /* GPFS */,
        0x19830326u /* BeeGFS */,
    };
    struct statfs fs;
    if (statfs(dir, &fs) != 0)
        return false;
    for (size_t i = 0; i < sizeof network / sizeof *network; i++)
        if ((uint32_t)fs.f_type == network[i])
            return true;
    return false;
}

static const char *const local_folders[] = {"/dev/shm/holdpoint.XXXXXX", "/tmp/holdpoint.XXXXXX"};

static char *local_board_path(const char *link, struct complaints *c) {
    for (size_t i = 0; i < sizeof local_folders / sizeof *local_folders; i++) {
        AUTO_TEXT folder = copy_text(local_folders[i]);
        if (!mkdtemp(folder))
            continue;
        char *path = format_text("%s/board", folder);
        if (symlink(path, link) == 0)
            return path;
        complain(c, link, 0, 0, "cannot be made a link to the board %s: %s", path, strerror(errno));
        rmdir(folder);
        free(path);
        return NULL;
    }
    complain(
        c, link, 0, 0,
        "lies on a network file system, and neither /dev/shm nor /tmp can be written: choose a "
        "local folder with --out");
    return NULL;
}

/* Path of the file to create for DIR/board. */
static char *board_path(const char *dir, struct complaints *c) {
    AUTO_TEXT path = format_text("%s/board", dir);
    return on_network(dir) ? local_board_path(path, c) : copy_text(path);
}

static bool is_private_folder(const char *folder) {
    for (size_t i = 0; i < sizeof local_folders / sizeof *local_folders; i++) {
        size_t fixed = strcspn(local_folders[i], "X");
        if (strncmp(folder, local_folders[i], fixed) == 0 && !strchr(folder + fixed, '/'))
            return true;
    }
    return false;
}

void board_remove(const char *dir) {
    AUTO_TEXT path = format_text("%s/board", dir);
    char target[PATH_MAX];
    ssize_t n = readlink(path, target, sizeof target - 1);
    unlink(path);
    if (n <= 0)
        return;
    target[n] = 0;
    char *slash = strrchr(target, '/');
    if (!slash || strcmp(slash, "/board") != 0)
        return;
    *slash = 0;
    if (!is_private_folder(target))
        return;
    *slash = '/';
    unlink(target);
    *slash = 0;
    rmdir(target);
}

/* ---- creating ---- */

static uint64_t aligned(uint64_t at) {
    return (at + 63) & ~(uint64_t)63;
}

/* Counts and offsets of the run-time arrays. */
static void lay_out(struct board *b, const struct plan *p, int n_ranks) {
    b->n_ranks = (uint32_t)n_ranks;
    b->n_slots = (uint32_t)n_ranks * BOARD_SLOTS_PER_RANK + 16;
    b->n_seqs = p->scope_rank ? (uint32_t)p->n_ranks_listed : 1;
    b->n_rings = n_ranks > 8 ? 8 * (uint32_t)n_ranks : 64;
    if (b->track_locks) /* 5 KiB each: a job of many ranks has few threads in each */
        b->n_threads = n_ranks > 128 ? 8 * (uint32_t)n_ranks : n_ranks > 8 ? 1024 : 128;
    b->at_ranks = aligned(sizeof *b);
    b->at_seqs = aligned(b->at_ranks + b->n_ranks * sizeof(struct board_rank));
    b->at_slots = aligned(b->at_seqs + b->n_seqs * sizeof(struct board_seq));
    b->at_rings = aligned(b->at_slots + b->n_slots * sizeof(struct board_slot));
    b->at_threads = aligned(b->at_rings + b->n_rings * sizeof(struct board_ring));
    b->total_bytes = b->at_threads + b->n_threads * sizeof(struct board_thread);
}

static bool name_trial(struct board *b, const char *dir, const char *trial_name,
                       const char *shim_path, const struct plan *p, struct complaints *c) {
    char *whole = realpath(dir, NULL);
    bool ok = board_add_string(b, trial_name, &b->trial_name) &&
              board_add_string(b, whole ? whole : dir, &b->trial_dir) &&
              board_add_string(b, shim_path, &b->shim_path);
    free(whole);
    if (!ok)
        complain(c, p->file, 0, 0,
                 "the plan's names and texts leave no room for the trial's: make it two plans");
    return ok;
}

static bool allocate_file(int fd, const char *path, uint64_t bytes, struct complaints *c) {
    int problem = posix_fallocate(fd, 0, (off_t)bytes);
    if (problem == 0)
        return true;
    struct statvfs room = {0};
    fstatvfs(fd, &room);
    if (problem == EFBIG)
        complain(c, path, 0, 0,
                 "the board needs %llu bytes and a file may not be so long here: raise the limit "
                 "(`ulimit -f`), or choose another folder with --out",
                 (unsigned long long)bytes);
    else if (problem == ENOSPC || problem == EDQUOT)
        complain(c, path, 0, 0,
                 "the board needs %llu bytes and the file system has %llu free: make room, or "
                 "choose another folder with --out",
                 (unsigned long long)bytes, (unsigned long long)room.f_bavail * room.f_frsize);
    else
        complain(c, path, 0, 0, "%llu bytes for the board cannot be allocated: %s",
                 (unsigned long long)bytes, strerror(problem));
    return false;
}

static struct board *map(int fd, uint64_t bytes, const char *path, struct complaints *c) {
    struct board *b = board_map(fd, bytes);
    if (!b)
        complain(c, path, 0, 0, "the board cannot be mapped: %s", strerror(errno));
    return b;
}

/* The file with `fixed` at its start, mapped; the magic comes last. */
static struct board *publish(int fd, const char *path, const struct plan *p,
                             const struct board *fixed, struct complaints *c) {
    if (!allocate_file(fd, path, fixed->total_bytes, c))
        return NULL;
    struct board *b = map(fd, fixed->total_bytes, path, c);
    if (!b)
        return NULL;
    memcpy((char *)b + sizeof b->magic, (const char *)fixed + sizeof b->magic,
           offsetof(struct board, strings) + sizeof b->strings - sizeof b->magic);
    for (uint32_t i = 0; i < b->n_seqs; i++)
        board_seqs(b)[i].rank = p->scope_rank ? p->ranks[i] : -1;
    b->constant_sum = board_constant_sum(b);
    memcpy(b->magic, BOARD_MAGIC, sizeof b->magic);
    if (board_own_head(b, offsetof(struct board, phase)))
        return b;
    complain(c, path, 0, 0, "the board cannot be mapped: %s", strerror(errno));
    board_unmap(b);
    return NULL;
}

static struct board *create_file(const char *dir, const struct plan *p, const struct board *fixed,
                                 struct complaints *c) {
    AUTO_TEXT path = board_path(dir, c);
    if (!path)
        return NULL;
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        bool there = errno == EEXIST;
        complain(c, path, 0, 0, "the board cannot be created: %s%s", strerror(errno),
                 there ? "; each trial needs a folder of its own" : "");
        if (!there)
            board_remove(dir);
        return NULL;
    }
    struct board *b = publish(fd, path, p, fixed, c);
    close(fd);
    if (!b)
        board_remove(dir);
    return b;
}

struct board *board_create(const char *dir, const struct plan *p, int n_ranks, double time_scale,
                           const char *trial_name, const char *shim_path, struct complaints *c) {
    if (n_ranks < 1 || n_ranks > BOARD_MAX_RANKS) {
        complain(c, p->file, 0, 0, "%d ranks were asked for; a trial has 1 to %d", n_ranks,
                 BOARD_MAX_RANKS);
        return NULL;
    }
    struct board *fixed = allocate(1, sizeof *fixed);
    fixed->version = BOARD_VERSION;
    fixed->layout = BOARD_LAYOUT;
    fixed->header_bytes = sizeof *fixed;
    struct board *b = NULL;
    bool compiled = plan_compile(p, time_scale, fixed, c);
    lay_out(fixed, p, n_ranks);
    if (compiled && name_trial(fixed, dir, trial_name, shim_path, p, c))
        b = create_file(dir, p, fixed, c);
    free(fixed);
    return b;
}

/* ---- opening ---- */

static struct board *open_whole(int fd, const char *path, struct complaints *c) {
    struct stat status;
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
        complain(c, path, 0, 0, "is not a board: it is no plain file");
        return NULL;
    }
    size_t bytes = (size_t)status.st_size;
    if (bytes < sizeof(struct board)) {
        complain(c, path, 0, 0,
                 "cannot be used: it is shorter than a board's fixed part: truncated, or not a "
                 "board; run the trial again");
        return NULL;
    }
    struct board *b = map(fd, bytes, path, c);
    if (!b)
        return NULL;
    const char *problem = board_problem(b, bytes);
    if (!problem && board_own_head(b, offsetof(struct board, phase)))
        return b;
    complain(c, path, 0, 0, "cannot be used: %s; run the trial again",
             problem ? problem : "there is no memory for it");
    board_unmap(b);
    return NULL;
}

struct board *board_open(const char *path, struct complaints *c) {
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        complain(c, path, 0, 0, "the board cannot be opened: %s", strerror(errno));
        return NULL;
    }
    struct board *b = open_whole(fd, path, c);
    close(fd);
    return b;
}

void board_close(struct board *b) {
    board_unmap(b);
}
