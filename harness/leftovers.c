/* What a trial's processes may leave on the machine. Runs in the guard and in the runner.
 * May remove only what is attributable to the trial.
 */
#include "leftovers.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static const char shared[] = "/dev/shm/";

/* A Unix socket's path has 107 bytes; Open MPI's session folders take about 50 of them. */
enum { LONGEST_TEMP_DIR = 50 };

char *leftovers_make_temp(const char *dir) {
    char whole[PATH_MAX], *path = NULL;
    if (!realpath(dir, whole) || asprintf(&path, "%s/tmp", whole) < 0)
        return NULL;
    if (strlen(path) <= LONGEST_TEMP_DIR) {
        if (mkdir(path, 0700) == 0 || errno == EEXIST)
            return path;
        free(path);
        return NULL;
    }
    free(path);
    const char *base = getenv("TMPDIR");
    if (!base || *base != '/' || strlen(base) > LONGEST_TEMP_DIR - 10)
        base = "/tmp";
    if (asprintf(&path, "%s/hp.XXXXXX", base) < 0)
        return NULL;
    if (mkdtemp(path))
        return path;
    free(path);
    return NULL;
}

void leftovers_begin(struct leftovers *l, char *temp_dir) {
    *l = (struct leftovers){.temp_dir = temp_dir};
    DIR *d = opendir(shared);
    struct dirent *e;
    while (d && (e = readdir(d)) != NULL) {
        ino_t *more = realloc(l->before, (l->n_before + 1) * sizeof *more);
        if (!more)
            break;
        l->before = more;
        l->before[l->n_before++] = e->d_ino;
    }
    if (d)
        closedir(d);
}

void leftovers_free(struct leftovers *l) {
    free(l->before);
    *l = (struct leftovers){0};
}

static bool was_there_before(const struct leftovers *l, ino_t inode) {
    for (size_t i = 0; i < l->n_before; i++)
        if (l->before[i] == inode)
            return true;
    return false;
}

static struct shared_file *noted(struct leftovers *l, dev_t device, ino_t inode) {
    for (size_t i = 0; i < l->n; i++)
        if (l->file[i].inode == inode && l->file[i].device == device)
            return &l->file[i];
    return NULL;
}

static void note_file(struct leftovers *l, const char *name, dev_t device, ino_t inode,
                      bool mapped) {
    struct shared_file *f = noted(l, device, inode);
    if (f) {
        f->mapped |= mapped;
        return;
    }
    if (strlen(name) >= sizeof f->name || l->n == LEFTOVERS_MAX || was_there_before(l, inode))
        return;
    f = &l->file[l->n++];
    *f = (struct shared_file){.device = device, .inode = inode, .mapped = mapped};
    strcpy(f->name, name);
}

typedef void shared_seen(const char *path, dev_t device, ino_t inode, bool mapped, void *data);

/* Below /dev/shm, and its name not yet removed. */
static bool is_shared(const char *path) {
    static const char deleted[] = " (deleted)";
    size_t length = strlen(path), end = sizeof deleted - 1;
    return strncmp(path, shared, sizeof shared - 1) == 0 &&
           !(length > end && strcmp(path + length - end, deleted) == 0);
}

static void each_shared_mapping(pid_t pid, shared_seen *each, void *data) {
    char name[32], line[4096];
    snprintf(name, sizeof name, "/proc/%d/maps", pid);
    FILE *f = fopen(name, "re");
    while (f && fgets(line, sizeof line, f)) {
        unsigned major, minor;
        unsigned long inode;
        char *path = strstr(line, shared);
        line[strcspn(line, "\n")] = '\0';
        if (path && is_shared(path) &&
            sscanf(line, "%*s %*s %*s %x:%x %lu", &major, &minor, &inode) == 3)
            each(path, makedev(major, minor), inode, true, data);
    }
    if (f)
        fclose(f);
}

/* Shared memory that is open, and perhaps not mapped yet: its name has no further slash. */
static void each_shared_descriptor(pid_t pid, shared_seen *each, void *data) {
    char folder[32], path[PATH_MAX];
    snprintf(folder, sizeof folder, "/proc/%d/fd", pid);
    DIR *d = opendir(folder);
    struct dirent *e;
    while (d && (e = readdir(d)) != NULL) {
        struct stat st;
        ssize_t n = readlinkat(dirfd(d), e->d_name, path, sizeof path - 1);
        path[n > 0 ? n : 0] = '\0';
        if (is_shared(path) && !strchr(path + sizeof shared - 1, '/') &&
            fstatat(dirfd(d), e->d_name, &st, 0) == 0 && S_ISREG(st.st_mode))
            each(path, st.st_dev, st.st_ino, false, data);
    }
    if (d)
        closedir(d);
}

static void each_shared_file(pid_t pid, shared_seen *each, void *data) {
    each_shared_mapping(pid, each, data);
    each_shared_descriptor(pid, each, data);
}

static void note_use(const char *path, dev_t device, ino_t inode, bool mapped, void *data) {
    note_file(data, path, device, inode, mapped);
}

void leftovers_note(struct leftovers *l, const struct tree *t) {
    for (size_t i = 0; i < t->n; i++)
        each_shared_file(t->process[i].pid, note_use, l);
}

struct in_use {
    struct leftovers *l;
    bool used[LEFTOVERS_MAX];
};

static void mark_used(const char *path, dev_t device, ino_t inode, bool mapped, void *data) {
    struct in_use *u = data;
    struct shared_file *f = noted(u->l, device, inode);
    (void)path;
    (void)mapped;
    if (f)
        u->used[f - u->l->file] = true;
}

/* A file that was only ever seen open may be somebody's output, unless nothing was written to it.
 */
static bool is_left(const struct shared_file *f) {
    struct stat st;
    return lstat(f->name, &st) == 0 && st.st_dev == f->device && st.st_ino == f->inode &&
           (f->mapped || st.st_blocks == 0);
}

static void remove_shared(struct leftovers *l) {
    bool any = false;
    struct in_use u = {.l = l};
    for (size_t i = 0; i < l->n; i++)
        any |= is_left(&l->file[i]);
    DIR *d = any ? opendir("/proc") : NULL;
    struct dirent *e;
    while (d && (e = readdir(d)) != NULL)
        if (strtol(e->d_name, NULL, 10) > 0)
            each_shared_file((pid_t)strtol(e->d_name, NULL, 10), mark_used, &u);
    if (d)
        closedir(d);
    for (size_t i = 0; d && i < l->n; i++)
        if (!u.used[i] && is_left(&l->file[i]))
            unlink(l->file[i].name);
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *where) {
    (void)st;
    (void)where;
    if (type == FTW_DP || type == FTW_D || type == FTW_DNR)
        rmdir(path);
    else
        unlink(path);
    return 0;
}

void leftovers_remove(struct leftovers *l) {
    if (l->temp_dir)
        nftw(l->temp_dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
    remove_shared(l);
}
