/* Evidence of a hang, by elfutils' libdwfl. Runs in the runner, which is an ancestor of all that it
 * looks at, so that the usual restriction of ptrace to descendants allows it. May not outlast its
 * deadline by more than one stack walk.
 */
#include "stacks.h"

#include <dirent.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "allocate.h"
#include "board/steps.h"

enum { MAX_FRAMES = 64 };

static void read_line(pid_t pid, pid_t tid, const char *file, char *text, size_t size) {
    char path[96];
    snprintf(path, sizeof path, "/proc/%d/task/%d/%s", pid, tid, file);
    FILE *f = fopen(path, "re");
    if (!f || !fgets(text, (int)size, f))
        snprintf(text, size, "?");
    if (f)
        fclose(f);
    text[strcspn(text, "\n")] = '\0';
}

static void write_state(FILE *f, pid_t pid, pid_t tid) {
    struct tree_process t;
    char wchan[128], call[256];
    if (!tree_read(pid, tid, &t))
        return;
    read_line(pid, tid, "wchan", wchan, sizeof wchan);
    read_line(pid, tid, "syscall", call, sizeof call);
    call[strcspn(call, " ")] = '\0'; /* the arguments are addresses, which tell nobody anything */
    fprintf(f, "  thread %d \"%s\" state %c wchan %s syscall %s\n", tid, t.name, t.state, wchan,
            call);
}

/* ---- stacks ---- */

struct walk {
    FILE *f;
    Dwfl *dwfl;
    uint64_t deadline;
    int frames;
};

static const char *file_name(const char *path) {
    const char *slash = path ? strrchr(path, '/') : NULL;
    return slash ? slash + 1 : path;
}

static int write_frame(Dwfl_Frame *frame, void *data) {
    struct walk *w = data;
    Dwarf_Addr pc;
    bool is_activation;
    if (!dwfl_frame_pc(frame, &pc, &is_activation) || w->frames >= MAX_FRAMES ||
        steps_now() > w->deadline)
        return DWARF_CB_ABORT;
    /* A return address may be the first byte of the next line or function: look one before it. */
    Dwarf_Addr at = is_activation ? pc : pc - 1;
    Dwfl_Module *m = dwfl_addrmodule(w->dwfl, at);
    Dwarf_Addr start = 0;
    GElf_Off offset = 0;
    GElf_Sym symbol;
    const char *function =
        m ? dwfl_module_addrinfo(m, at, &offset, &symbol, NULL, NULL, NULL) : NULL;
    const char *module = m ? dwfl_module_info(m, NULL, &start, NULL, NULL, NULL, NULL, NULL) : NULL;
    int line_number;
    Dwfl_Line *line = m ? dwfl_module_getsrc(m, at) : NULL;
    const char *source = line ? dwfl_lineinfo(line, NULL, &line_number, NULL, NULL, NULL) : NULL;
    fprintf(w->f, "    #%-2d %s!%s+0x%lx", w->frames++, module ? file_name(module) : "?",
            function ? function : "?",
            function ? (unsigned long)(offset + pc - at) : (unsigned long)(pc - start));
    if (source)
        fprintf(w->f, " %s:%d", source, line_number);
    fputc('\n', w->f);
    return DWARF_CB_OK;
}

static Dwfl *open_process(pid_t pid) {
    static char *no_debug_path = "";
    static const Dwfl_Callbacks callbacks = {
        .find_elf = dwfl_linux_proc_find_elf,
        .find_debuginfo = dwfl_standard_find_debuginfo,
        .debuginfo_path = &no_debug_path, /* beside the module and by build-id only */
    };
    Dwfl *dwfl = dwfl_begin(&callbacks);
    if (!dwfl)
        return NULL;
    if (dwfl_linux_proc_report(dwfl, pid) == 0 && dwfl_report_end(dwfl, NULL, NULL) == 0 &&
        dwfl_linux_proc_attach(dwfl, pid, false) == 0)
        return dwfl;
    dwfl_end(dwfl);
    return NULL;
}

static void write_stack(struct walk *w, pid_t tid) {
    w->frames = 0;
    if (!w->dwfl || steps_now() > w->deadline)
        return;
    errno = 0;
    dwfl_getthread_frames(w->dwfl, tid, write_frame, w);
    if (w->frames == 0)
        fprintf(w->f, "    no stack: %s\n",
                errno == EPERM ? "ptrace is refused here (see `holdpoint doctor`)"
                               : dwfl_errmsg(-1));
}

static void write_process(FILE *f, const struct tree_process *p, uint64_t deadline) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", p->pid);
    struct walk w = {.f = f, .deadline = deadline};
    if (p->state != 'Z' && p->state != 'D' && steps_now() < deadline) {
        w.dwfl = open_process(p->pid);
        if (!w.dwfl)
            fprintf(f, "  no stacks: the process's modules cannot be read\n");
    }
    DIR *d = opendir(path);
    struct dirent *e;
    while (d && (e = readdir(d)) != NULL) {
        pid_t tid = (pid_t)strtol(e->d_name, NULL, 10);
        if (tid <= 0)
            continue;
        write_state(f, p->pid, tid);
        write_stack(&w, tid);
    }
    if (d)
        closedir(d);
    if (w.dwfl)
        dwfl_end(w.dwfl);
}

void stacks_write(FILE *f, const struct tree *t, uint64_t deadline, stacks_label *label,
                  void *data) {
    unsetenv("DEBUGINFOD_URLS"); /* elfutils would ask the network */
    for (size_t i = 0; i < t->n; i++) {
        const struct tree_process *p = &t->process[i];
        const char *name = label(p->pid, data);
        fprintf(f, "process %d \"%s\" parent %d state %c%s%s\n", p->pid, p->name, p->parent,
                p->state, name ? ": " : "", name ? name : "");
        write_process(f, p, deadline);
    }
    if (steps_now() > deadline)
        fprintf(f, "The time for evidence was over before every stack was read.\n");
}

/* ---- single stacks ---- */

struct stacks {
    const struct board *b;
    Dwfl *dwfl;
    struct board_frame *frame;
    uint32_t n, max;
};

struct stacks *stacks_open(pid_t pid, const struct board *b) {
    Dwfl *dwfl = open_process(pid);
    if (!dwfl)
        return NULL;
    struct stacks *s = allocate(1, sizeof *s);
    s->b = b;
    s->dwfl = dwfl;
    return s;
}

void stacks_close(struct stacks *s) {
    if (!s)
        return;
    dwfl_end(s->dwfl);
    free(s);
}

/* The kernel tells where a file lies, the loader by which of its names it was asked for. */
static uint32_t module_on_board(const struct board *b, const char *path) {
    uint32_t by_name = BOARD_NONE;
    for (uint32_t i = 0; path && i < BOARD_MAX_MODULES; i++) {
        const struct board_module *m = &b->module[i];
        if (atomic_load(&m->state) != 2)
            continue;
        if (strcmp(m->path, path) == 0)
            return i;
        if (by_name == BOARD_NONE && strcmp(file_name(m->path), file_name(path)) == 0)
            by_name = i;
    }
    return by_name;
}

static const char *module_path(struct stacks *s, uint64_t pc, uint64_t *bias) {
    Dwfl_Module *m = dwfl_addrmodule(s->dwfl, pc);
    const char *name = m ? dwfl_module_info(m, NULL, NULL, NULL, NULL, NULL, NULL, NULL) : NULL;
    *bias = 0;
    return m && dwfl_module_getelf(m, bias) ? name : NULL;
}

struct board_frame stacks_frame(struct stacks *s, uint64_t pc) {
    uint64_t bias;
    const char *path = module_path(s, pc, &bias);
    uint32_t module = module_on_board(s->b, path);
    return (struct board_frame){.module = module, .offset = module == BOARD_NONE ? pc : pc - bias};
}

static int keep_frame(Dwfl_Frame *frame, void *data) {
    struct stacks *s = data;
    Dwarf_Addr pc;
    bool is_activation;
    uint64_t bias;
    if (s->n == s->max || !dwfl_frame_pc(frame, &pc, &is_activation))
        return DWARF_CB_ABORT;
    pc -= !is_activation;
    const char *path = module_path(s, pc, &bias);
    if (!path || strcmp(file_name(path), "libholdpoint.so") != 0)
        s->frame[s->n++] = stacks_frame(s, pc);
    return DWARF_CB_OK;
}

uint32_t stacks_walk(struct stacks *s, pid_t tid, struct board_frame *frame, uint32_t max) {
    s->frame = frame;
    s->n = 0;
    s->max = max;
    dwfl_getthread_frames(s->dwfl, tid, keep_frame, s);
    return s->n;
}
