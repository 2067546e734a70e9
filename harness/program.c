/* What a file is that somebody wants to run. Runs in the runner and in holdpoint-rank before its
 * exec. May not need any library but libc, and never runs the program itself.
 */
#include "program.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

struct image {
    const unsigned char *bytes;
    size_t size;
};

static void image_close(struct image *i) {
    if (i->bytes)
        munmap((void *)(uintptr_t)i->bytes, i->size);
}

static struct image image_open(const char *path) {
    struct image i = {NULL, 0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    if (fd < 0)
        return i;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0) {
        void *at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (at != MAP_FAILED)
            i = (struct image){at, (size_t)st.st_size};
    }
    close(fd);
    return i;
}

/* The bytes [at, at + size) of the image, or NULL when they are not all in it. */
static const void *image_part(const struct image *i, uint64_t at, uint64_t size) {
    return at <= i->size && size <= i->size - at ? i->bytes + at : NULL;
}

static bool is_elf(const struct image *i) {
    return i->size >= EI_NIDENT && memcmp(i->bytes, ELFMAG, SELFMAG) == 0;
}

static const Elf64_Ehdr *elf64_header(const struct image *i) {
    const Elf64_Ehdr *e = image_part(i, 0, sizeof *e);
    if (!e || !is_elf(i) || e->e_ident[EI_CLASS] != ELFCLASS64 || e->e_machine != EM_X86_64)
        return NULL;
    return e;
}

static bool find_by_path(const char *command, char *path, size_t size) {
    const char *folders = getenv("PATH");
    if (!folders)
        folders = "/usr/local/bin:/usr/bin:/bin";
    bool seen = false;
    while (*folders) {
        size_t n = strcspn(folders, ":");
        char tried[PATH_MAX];
        int length = n ? snprintf(tried, sizeof tried, "%.*s/%s", (int)n, folders, command)
                       : snprintf(tried, sizeof tried, "./%s", command);
        struct stat st;
        if (length > 0 && (size_t)length < sizeof tried && stat(tried, &st) == 0 &&
            S_ISREG(st.st_mode)) {
            bool runs = access(tried, X_OK) == 0;
            if (runs || !seen)
                snprintf(path, size, "%s", tried);
            seen = true;
            if (runs)
                return true;
        }
        folders += n + (folders[n] == ':');
    }
    return seen;
}

/* The kernel sets AT_SECURE, and the loader then ignores LD_PRELOAD, only when the file changes who
 * we are. */
static bool is_privileged(const char *path, const struct stat *st) {
    if ((st->st_mode & S_ISUID) && st->st_uid != getuid())
        return true;
    if ((st->st_mode & S_ISGID) && (st->st_mode & S_IXGRP) && st->st_gid != getgid())
        return true;
    return getuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0;
}

static void look_at_script(const struct image *i, struct program *p) {
    p->kind = PROGRAM_SCRIPT;
    snprintf(p->interpreter, sizeof p->interpreter, "/bin/sh"); /* as execvp does without #! */
    if (i->size < 3 || i->bytes[0] != '#' || i->bytes[1] != '!')
        return;
    size_t from = 2, to;
    while (from < i->size && (i->bytes[from] == ' ' || i->bytes[from] == '\t'))
        from++;
    for (to = from; to < i->size && !strchr(" \t\r\n", i->bytes[to]);)
        to++;
    if (to > from && to - from < sizeof p->interpreter)
        snprintf(p->interpreter, sizeof p->interpreter, "%.*s", (int)(to - from), i->bytes + from);
}

static void look_at_elf(const struct image *i, struct program *p) {
    const Elf64_Ehdr *e = elf64_header(i);
    if (!e) {
        p->kind = PROGRAM_OTHER_ARCHITECTURE;
        return;
    }
    p->kind = PROGRAM_STATIC;
    for (unsigned n = 0; n < e->e_phnum; n++) {
        const Elf64_Phdr *h = image_part(i, e->e_phoff + n * (uint64_t)e->e_phentsize, sizeof *h);
        const char *name =
            h && h->p_type == PT_INTERP ? image_part(i, h->p_offset, h->p_filesz) : NULL;
        if (!name)
            continue;
        p->kind = PROGRAM_DYNAMIC;
        snprintf(p->interpreter, sizeof p->interpreter, "%.*s", (int)h->p_filesz, name);
    }
}

void program_look(const char *command, struct program *p) {
    memset(p, 0, sizeof *p);
    p->kind = PROGRAM_MISSING;
    snprintf(p->path, sizeof p->path, "%s", command);
    struct stat st;
    if (!*command || (!strchr(command, '/') && !find_by_path(command, p->path, sizeof p->path)) ||
        stat(p->path, &st) != 0)
        return;
    if (!S_ISREG(st.st_mode) || access(p->path, X_OK) != 0) {
        p->kind = PROGRAM_NOT_EXECUTABLE;
        return;
    }
    p->privileged = is_privileged(p->path, &st);
    __attribute__((cleanup(image_close))) struct image i = image_open(p->path);
    if (is_elf(&i))
        look_at_elf(&i, p);
    else
        look_at_script(&i, p);
}

bool program_problem(const struct program *p, char *sentence, size_t size) {
    const char *why = NULL;
    switch (p->kind) {
    case PROGRAM_MISSING:
        why = "does not exist: give its path, or a name that PATH finds";
        break;
    case PROGRAM_NOT_EXECUTABLE:
        why = "is not an executable file: chmod +x it, or name the program and not its folder";
        break;
    case PROGRAM_OTHER_ARCHITECTURE:
        why = "is not an x86-64 program: holdpoint runs 64-bit x86-64 programs only";
        break;
    case PROGRAM_STATIC:
        why = "is statically linked, so that nothing can be preloaded into it: link it dynamically";
        break;
    case PROGRAM_DYNAMIC:
    case PROGRAM_SCRIPT:
        if (p->privileged)
            why = "is setuid, setgid or has file capabilities, so that the loader ignores "
                  "LD_PRELOAD: "
                  "run a copy without them";
    }
    if (!why)
        return false;
    snprintf(sentence, size, "%s %s", p->path, why);
    return true;
}

/* Starts `loader --list path` with its output in the returned descriptor; -1: could not. */
static int list_libraries(const char *loader, const char *path, pid_t *child) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    *child = fork();
    if (*child == 0) {
        /* A preloaded library of ours would be listed as the program's, and an auditor would run.
         */
        unsetenv("LD_PRELOAD");
        unsetenv("LD_AUDIT");
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);
        dup2(null, 0);
        dup2(ends[1], 1);
        dup2(null, 2);
        execl(loader, loader, "--list", path, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    if (*child < 0) {
        close(ends[0]);
        return -1;
    }
    return ends[0];
}

/* "\tlibm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x…)", "\t/lib/x.so (0x…)", "\tliba.so => not
 * found" */
static void take_line(char *line, program_library *each, void *data) {
    line += strspn(line, " \t");
    line[strcspn(line, "\n")] = '\0';
    char *arrow = strstr(line, " => ");
    char *path = arrow ? arrow + 4 : line;
    if (arrow)
        *arrow = '\0';
    char *address = strstr(path, " (0x");
    if (address)
        *address = '\0';
    if (strncmp(path, "not found", 9) == 0)
        each(line, "", data);
    else if (*path == '/')
        each(line, path, data);
}

bool program_libraries(const struct program *p, program_library *each, void *data) {
    const char *loader =
        p->kind == PROGRAM_DYNAMIC ? p->interpreter : "/lib64/ld-linux-x86-64.so.2";
    pid_t child;
    int fd = list_libraries(loader, p->path, &child);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
    if (!f)
        return false;
    char *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, f) > 0)
        take_line(line, each, data);
    free(line);
    fclose(f);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

struct runtime_search {
    char *path;
    size_t size;
};

static void note_runtime(const char *name, const char *path, void *data) {
    static const char *const runtimes[] = {"libasan.so", "libtsan.so", "libclang_rt.asan",
                                           "libclang_rt.tsan"};
    struct runtime_search *s = data;
    const char *file = strrchr(name, '/') ? strrchr(name, '/') + 1 : name;
    for (size_t i = 0; i < sizeof runtimes / sizeof *runtimes; i++)
        if (!*s->path && *path && strncmp(file, runtimes[i], strlen(runtimes[i])) == 0)
            snprintf(s->path, s->size, "%s", path);
}

void program_runtime(const struct program *p, char *path, size_t size) {
    *path = '\0';
    struct program interpreter;
    if (p->kind == PROGRAM_SCRIPT) {
        program_look(p->interpreter, &interpreter);
        p = &interpreter;
    }
    /* STATIC: a shared library has no loader of its own either, and can be listed. */
    if (p->kind == PROGRAM_DYNAMIC || p->kind == PROGRAM_STATIC)
        program_libraries(p, note_runtime, &(struct runtime_search){path, size});
}

static const Elf64_Shdr *section(const struct image *i, const Elf64_Ehdr *e, uint32_t n) {
    return n < e->e_shnum
               ? image_part(i, e->e_shoff + n * (uint64_t)e->e_shentsize, sizeof(Elf64_Shdr))
               : NULL;
}

/* The sanitizer whose runtime is defined here, by its name as -fsanitize= takes it; NULL: none. */
static const char *defined_runtime(const struct image *i, const Elf64_Ehdr *e,
                                   const Elf64_Shdr *table) {
    const Elf64_Shdr *names = section(i, e, table->sh_link);
    const Elf64_Sym *symbol = image_part(i, table->sh_offset, table->sh_size);
    const char *strings = names ? image_part(i, names->sh_offset, names->sh_size) : NULL;
    if (!symbol || !strings || names->sh_size == 0 || strings[names->sh_size - 1] != '\0')
        return NULL;
    for (size_t n = 0; n < table->sh_size / sizeof *symbol; n++) {
        if (symbol[n].st_shndx == SHN_UNDEF || symbol[n].st_name >= names->sh_size)
            continue;
        const char *name = strings + symbol[n].st_name;
        if (strcmp(name, "__asan_init") == 0)
            return "address";
        if (strcmp(name, "__tsan_init") == 0)
            return "thread";
    }
    return NULL;
}

static const char *static_runtime(const struct program *p) {
    __attribute__((cleanup(image_close))) struct image i = image_open(p->path);
    const Elf64_Ehdr *e = i.bytes ? elf64_header(&i) : NULL;
    for (uint32_t n = 0; e && n < e->e_shnum; n++) {
        const Elf64_Shdr *s = section(&i, e, n);
        const char *found = s && s->sh_type == SHT_DYNSYM ? defined_runtime(&i, e, s) : NULL;
        if (found)
            return found;
    }
    return NULL;
}

bool program_has_static_runtime(const struct program *p) {
    return static_runtime(p) != NULL;
}

const char *program_sanitizer(const struct program *p) {
    char path[PATH_MAX];
    program_runtime(p, path, sizeof path);
    const char *file = strrchr(path, '/');
    if (!file)
        return static_runtime(p);
    return strstr(file, "asan") ? "address" : strstr(file, "tsan") ? "thread" : NULL;
}
