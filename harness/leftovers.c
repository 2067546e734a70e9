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

static void note_file(struct leftovers *l, const char *name, dev_t device, ino_t inode) {
    if (strlen(name) >= sizeof l->file[0].name)
        return;
    for (size_t i = 0; i < l->n; i++)
        if (l->file[i].inode == inode && l->file[i].device == device)
            return;
    if (l->n == LEFTOVERS_MAX || was_there_before(l, inode))
        return;
    struct shared_file *f = &l->file[l->n++];
    strcpy(f->name, name);
    f->device = device;
    f->inode = inode;
}

typedef void mapping(const char *path, dev_t device, ino_t inode, void *data);

/* Every mapping of a file in /dev/shm that still has its name. */
static void each_shared_mapping(pid_t pid, mapping *each, void *data) {
    char name[32], line[4096];
    snprintf(name, sizeof name, "/proc/%d/maps", pid);
    FILE *f = fopen(name, "re");
    while (f && fgets(line, sizeof line, f)) {
        unsigned major, minor;
        unsigned long inode;
        char *path = strstr(line, shared);
        line[strcspn(line, "\n")] = '\0';
        size_t length = path ? strlen(path) : 0;
        if (!path || (length > 10 && strcmp(path + length - 10, " (deleted)") == 0))
            continue;
        if (sscanf(line, "%*s %*s %*s %x:%x %lu", &major, &minor, &inode) == 3)
            each(path, makedev(major, minor), inode, data);
    }
    if (f)
        fclose(f);
}

static void note_mapping(const char *path, dev_t device, ino_t inode, void *data) {
    note_file(data, path, device, inode);
}

void leftovers_note(struct leftovers *l, const struct tree *t) {
    for (size_t i = 0; i < t->n; i++)
        each_shared_mapping(t->process[i].pid, note_mapping, l);
}

struct in_use {
    struct leftovers *l;
    bool used[LEFTOVERS_MAX];
};

static void mark_used(const char *path, dev_t device, ino_t inode, void *data) {
    struct in_use *u = data;
    (void)path;
    for (size_t i = 0; i < u->l->n; i++)
        if (u->l->file[i].inode == inode && u->l->file[i].device == device)
            u->used[i] = true;
}

static bool still_there(const struct shared_file *f) {
    struct stat st;
    return lstat(f->name, &st) == 0 && st.st_dev == f->device && st.st_ino == f->inode;
}

static void remove_shared(struct leftovers *l) {
    bool any = false;
    struct in_use u = {.l = l};
    for (size_t i = 0; i < l->n; i++)
        any |= still_there(&l->file[i]);
    DIR *d = any ? opendir("/proc") : NULL;
    struct dirent *e;
    while (d && (e = readdir(d)) != NULL)
        if (strtol(e->d_name, NULL, 10) > 0)
            each_shared_mapping((pid_t)strtol(e->d_name, NULL, 10), mark_used, &u);
    if (d)
        closedir(d);
    for (size_t i = 0; d && i < l->n; i++)
        if (!u.used[i] && still_there(&l->file[i]))
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
