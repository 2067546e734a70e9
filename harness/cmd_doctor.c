/* `holdpoint doctor`: what this machine has and lacks, each with what to do. Starts small programs
 * to see whether they work; changes nothing.
 */
#include "commands.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "allocate.h"
#include "exit_status.h"
#include "launch.h"
#include "parts.h"

static const char help[] =
    "usage: holdpoint doctor [--out DIR]\n"
    "\n"
    "Says what this machine has and lacks, each with what to do. DIR: where results would go "
    "(default:\n"
    "this folder). Exit: 0 nothing that every trial needs is lacking, 125 something is.\n";

/* NEEDED: no trial works without it. */
enum state { HAS, LACKS, NEEDED };

static bool all_needed_there = true;

static void tell(enum state state, const char *what, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void tell(enum state state, const char *what, const char *format, ...) {
    static const char *const names[] = {"has", "lacks", "NEEDS"};
    va_list values;
    va_start(values, format);
    printf("%-6s %-12s ", names[state], what);
    vprintf(format, values);
    putchar('\n');
    va_end(values);
    all_needed_there &= state != NEEDED;
}

/* First line of a file or of a command's output; "" when there is none. */
static void first_line(FILE *f, char *line, int size) {
    if (!f || !fgets(line, size, f))
        *line = '\0';
    line[strcspn(line, "\n")] = '\0';
}

static void line_of_file(const char *path, char *line, int size) {
    FILE *f = fopen(path, "re");
    first_line(f, line, size);
    if (f)
        fclose(f);
}

/* False: the command failed. */
static bool line_of_command(const char *command, char *line, int size) {
    FILE *f = popen(command, "re");
    first_line(f, line, size);
    char rest[512];
    while (f && fgets(rest, sizeof rest, f))
        ; /* a command that writes into a closed pipe would fail */
    return f && pclose(f) == 0;
}

static void look_at_kernel(void) {
    struct utsname u;
    uname(&u);
    tell(HAS, "kernel", "%s %s, %ld CPUs", u.sysname, u.release, sysconf(_SC_NPROCESSORS_ONLN));
}

/* Can a parent trace its child here? That is what the stacks of a hanging process need. */
static bool ptrace_works(void) {
    pid_t child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    bool works = child > 0 && ptrace(PTRACE_SEIZE, child, NULL, NULL) == 0;
    if (child > 0) {
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
    }
    return works;
}

static void look_at_ptrace(void) {
    char scope[32];
    line_of_file("/proc/sys/kernel/yama/ptrace_scope", scope, sizeof scope);
    if (ptrace_works())
        tell(HAS, "ptrace", "of descendants is allowed (ptrace_scope %s)",
             *scope ? scope : "absent");
    else
        tell(LACKS, "ptrace",
             "is refused (ptrace_scope %s), so a hang has no stacks: as root, `sysctl "
             "kernel.yama.ptrace_scope=1`; in a container, `--cap-add=SYS_PTRACE`",
             *scope ? scope : "absent");
}

/* A library that cannot be preloaded is only warned about: silence on stderr is the proof. */
static void look_at_shim(void) {
    char said[512];
    AUTO_TEXT shim = parts_find("libholdpoint.so");
    AUTO_TEXT rank = parts_find("holdpoint-rank");
    if (!rank || access(rank, X_OK) != 0)
        tell(NEEDED, "rank",
             "holdpoint-rank is not beside this program: run `make`, or `make install`");
    else
        tell(HAS, "rank", "%s", rank);
    if (!shim) {
        tell(NEEDED, "shim",
             "libholdpoint.so is not beside this program: run `make`, or `make install`");
        return;
    }
    if (shim[strcspn(shim, ": '")]) {
        tell(NEEDED, "shim",
             "%s: LD_PRELOAD cannot hold a path with a blank or a colon: move holdpoint to another "
             "folder",
             shim);
        return;
    }
    AUTO_TEXT command = format_text("LD_PRELOAD='%s' /bin/true 2>&1", shim);
    if (line_of_command(command, said, sizeof said) && !*said)
        tell(HAS, "shim", "%s loads", shim);
    else
        tell(NEEDED, "shim", "%s does not load into /bin/true (%s): rebuild it on this machine",
             shim, *said ? said : "true failed");
}

static void look_at_mpirun(void) {
    const char *line = launch_mpirun_version();
    int version = launch_open_mpi_version(line);
    if (!line)
        tell(LACKS, "mpirun", "is not in PATH: apt-get install openmpi-bin (launcher local works)");
    else if (!version)
        tell(LACKS, "mpirun",
             "is \"%s\", not Open MPI: give your own launch line to `holdpoint exec`", line);
    else
        tell(HAS, "mpirun", "Open MPI, version %d.%d", version / 100, version % 100);
}

/* A shared library as the loader's cache knows it, or a compiler; "" when neither does. */
static void find_library(const char *name, char *path, int size) {
    AUTO_TEXT in_cache = format_text(
        "PATH=$PATH:/sbin:/usr/sbin ldconfig -p 2>/dev/null | sed -n 's|^[[:space:]]*%s[0-9.]* "
        "(.*x86-64.*=> ||p'",
        name);
    AUTO_TEXT of_compiler = format_text("gcc -print-file-name=%s 2>/dev/null", name);
    line_of_command(in_cache, path, size);
    if (!*path && (!line_of_command(of_compiler, path, size) || *path != '/'))
        *path = '\0';
}

static void look_at_library(const char *what, const char *name, const char *otherwise) {
    char path[512];
    find_library(name, path, sizeof path);
    if (*path)
        tell(HAS, what, "%s", path);
    else
        tell(LACKS, what, "%s", otherwise);
}

static void look_at_gpu(void) {
    char line[256];
    if (access("/dev/nvidiactl", F_OK) == 0 &&
        line_of_command("nvidia-smi -L 2>/dev/null", line, sizeof line))
        tell(HAS, "GPU", "%s", line);
    else
        tell(LACKS, "GPU", "none that nvidia-smi sees: scenarios run without one");
}

static void look_at_space(const char *what, const char *dir, double needed_mib,
                          const char *otherwise) {
    struct statvfs room;
    if (statvfs(dir, &room) != 0 || access(dir, W_OK) != 0) {
        tell(NEEDED, what, "%s cannot be written: %s", dir, strerror(errno));
        return;
    }
    double mib = (double)room.f_bavail * (double)room.f_frsize / 1048576.0;
    if (mib >= needed_mib)
        tell(HAS, what, "%s, %.0f MiB free", dir, mib);
    else
        tell(LACKS, what, "%s has %.0f MiB free: %s", dir, mib, otherwise);
}

static void look_at_cores(void) {
    char pattern[256];
    struct rlimit limit;
    line_of_file("/proc/sys/kernel/core_pattern", pattern, sizeof pattern);
    getrlimit(RLIMIT_CORE, &limit);
    if (limit.rlim_cur == 0)
        tell(HAS, "core files", "none are written (ulimit -c 0); holdpoint needs none");
    else if (*pattern == '|')
        tell(HAS, "core files", "go to %s: each forced crash is reported there too", pattern + 1);
    else
        tell(HAS, "core files",
             "named %s: each forced crash may leave one in the working folder; `ulimit -c 0` stops "
             "that",
             pattern);
}

/* Not always the first python3 in PATH has the packages. */
static void look_at_python(void) {
    char line[512];
    const char *command = "IFS=:; for d in $PATH; do \"$d/python3\" -c 'import sys, pytest, "
                          "jinja2, yaml, jsonschema; "
                          "print(sys.executable, \"with pytest\", pytest.__version__)' 2>/dev/null "
                          "&& exit 0; done; exit 1";
    if (line_of_command(command, line, sizeof line) && *line)
        tell(HAS, "python3", "%s", line);
    else
        tell(LACKS, "python3",
             "with the packages of the tests and reports: apt-get install python3-pytest "
             "python3-jinja2 "
             "python3-yaml python3-jsonschema");
}

int cmd_doctor(int argc, char **argv) {
    const char *out = ".";
    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        fputs(help, stdout);
        return 0;
    }
    if (argc == 3 && strcmp(argv[1], "--out") == 0) {
        out = argv[2];
    } else if (argc != 1) {
        fprintf(stderr, "holdpoint doctor: %s: not understood\n%s", argv[1], help);
        return EXIT_USAGE;
    }
    look_at_kernel();
    look_at_ptrace();
    look_at_shim();
    look_at_mpirun();
    look_at_library("PMIx", "libpmix.so",
                    "libpmix: apt-get install libpmix-dev (for pmix.* hooks)");
    look_at_library("ASan", "libasan.so",
                    "libasan: apt-get install gcc (for programs built with it)");
    look_at_library("TSan", "libtsan.so",
                    "libtsan: apt-get install gcc (for programs built with it)");
    look_at_gpu();
    look_at_space("output", out, 200,
                  "a trial takes up to some tens of MiB: make room, or choose --out");
    look_at_space(
        "/dev/shm", "/dev/shm", 64,
        "MPI programs keep their shared memory there: enlarge it (containers: --shm-size)");
    look_at_cores();
    look_at_python();
    fflush(stdout);
    return all_needed_there ? 0 : EXIT_CANNOT_TELL;
}
