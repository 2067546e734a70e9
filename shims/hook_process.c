/* Hooks process.fork, process.exec and process.exit (way 1), and the environment that other
 * programs get. */
#include "engine.h"
#include "original.h"
#include "process.h"
#include "thread.h"

#include <errno.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#define EXPORTED __attribute__((visibility("default")))
typedef int (*main_function)(int, char **, char **);
extern char **environ;

ORIGINAL(int, fork, void)
ORIGINAL(int, execve, const char *, char *const *, char *const *)
ORIGINAL(int, execvpe, const char *, char *const *, char *const *)
ORIGINAL(int, posix_spawn, pid_t *, const char *, const posix_spawn_file_actions_t *,
         const posix_spawnattr_t *, char *const *, char *const *)
ORIGINAL(int, posix_spawnp, pid_t *, const char *, const posix_spawn_file_actions_t *,
         const posix_spawnattr_t *, char *const *, char *const *)
ORIGINAL(void, exit, int)
ORIGINAL(void, _exit, int)
ORIGINAL(void, quick_exit, int)
ORIGINAL(int, __libc_start_main, main_function, int, char **, main_function, void (*)(void),
         void (*)(void), void *)

/* ---- fork ---- */

EXPORTED pid_t fork(void) {
    struct arrival a = ARRIVAL(engine_hook(HOOK_PROCESS_FORK), SIDE_ENTER);
    bool seen = a.hook != BOARD_NONE && engine_takes_part();
    if (seen) {
        a.caller = __builtin_return_address(0);
        a.sp = (uintptr_t)__builtin_frame_address(0);
        engine_arrive(&a);
        if (a.fails) {
            errno = a.error_number ? a.error_number : EAGAIN;
            return (pid_t)a.result;
        }
    }
    pid_t child = get_fork()();
    if (seen && child != 0 && engine_takes_part()) {
        struct arrival back = ARRIVAL(a.hook, SIDE_RETURN);
        back.caller = a.caller;
        back.sp = a.sp;
        engine_arrive(&back);
    }
    return child;
}

/* ---- exec ---- */

/* A rank that executes another program stays a rank. Its state says so until the new program checks
 * in, or until the call has failed. */
static bool exec_begins(const char *program) {
    if (!engine_takes_part())
        return false;
    struct arrival a = ARRIVAL(engine_hook(HOOK_PROCESS_EXEC), SIDE_ENTER);
    a.caller = __builtin_return_address(0);
    a.sp = (uintptr_t)__builtin_frame_address(0);
    a.attr[0] = (struct arrival_attr){.id = ATTR_PROGRAM, .text = program};
    a.n_attrs = 1;
    if (a.hook != BOARD_NONE)
        engine_arrive(&a);
    atomic_fetch_add(&process_slot()->execs, 1);
    atomic_store(&process_slot()->state, SLOT_EXECING);
    return true;
}

static int exec_failed(bool began, int result) {
    if (began) {
        atomic_fetch_sub(&process_slot()->execs, 1);
        atomic_store(&process_slot()->state, SLOT_ALIVE);
    }
    return result;
}

enum { PRELOAD_BYTES = 4096, MAX_ENVIRONMENT = 8192 };

/* What a program gets that is no rank: fork and vfork children end here too, so it all lies on the
 * stack. */
#define CLEAN_ENVIRONMENT(envp)                                                                    \
    size_t n_clean = process_count_environment(envp) + 1;                                          \
    bool clean = !process_children_follow() && n_clean <= MAX_ENVIRONMENT;                         \
    char *cleaned[clean ? n_clean : 1], preload[PRELOAD_BYTES];                                    \
    if (clean)                                                                                     \
    envp = process_clean_environment(envp, cleaned, n_clean, preload, sizeof preload)

EXPORTED int execve(const char *path, char *const argv[], char *const envp[]) {
    if (exec_begins(path))
        return exec_failed(true, get_execve()(path, argv, envp));
    CLEAN_ENVIRONMENT(envp);
    return get_execve()(path, argv, envp);
}

EXPORTED int execvpe(const char *file, char *const argv[], char *const envp[]) {
    if (exec_begins(file))
        return exec_failed(true, get_execvpe()(file, argv, envp));
    CLEAN_ENVIRONMENT(envp);
    return get_execvpe()(file, argv, envp);
}

EXPORTED int execv(const char *path, char *const argv[]) {
    return execve(path, argv, environ);
}

EXPORTED int execvp(const char *file, char *const argv[]) {
    return execvpe(file, argv, environ);
}

/* Arguments that stand one by one, up to a NULL: a vfork child may come here, so they are copied to
 * its stack. */
static size_t count_arguments(va_list list) {
    va_list rest;
    size_t n = 1;
    va_copy(rest, list);
    while (va_arg(rest, char *))
        n++;
    va_end(rest);
    return n;
}

static void copy_arguments(char **argv, const char *first, va_list *list) {
    argv[0] = (char *)(uintptr_t)first;
    for (size_t i = 0; argv[i]; i++)
        argv[i + 1] = va_arg(*list, char *);
}

#define EXECUTE_LIST(execute, program, first, environment)                                         \
    do {                                                                                           \
        va_list list;                                                                              \
        va_start(list, first);                                                                     \
        char *argv[1 + count_arguments(list)];                                                     \
        copy_arguments(argv, first, &list);                                                        \
        char *const *envp = (environment);                                                         \
        va_end(list);                                                                              \
        return execute(program, argv, envp);                                                       \
    } while (0)

EXPORTED int execl(const char *path, const char *first, ...) {
    EXECUTE_LIST(execve, path, first, environ);
}

EXPORTED int execlp(const char *file, const char *first, ...) {
    EXECUTE_LIST(execvpe, file, first, environ);
}

EXPORTED int execle(const char *path, const char *first, ...) {
    EXECUTE_LIST(execve, path, first, va_arg(list, char *const *));
}

EXPORTED int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                         const posix_spawnattr_t *attributes, char *const argv[],
                         char *const envp[]) {
    CLEAN_ENVIRONMENT(envp);
    return get_posix_spawn()(pid, path, actions, attributes, argv, envp);
}

EXPORTED int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
                          const posix_spawnattr_t *attributes, char *const argv[],
                          char *const envp[]) {
    CLEAN_ENVIRONMENT(envp);
    return get_posix_spawnp()(pid, file, actions, attributes, argv, envp);
}

/* ---- exit ---- */

static void exit_begins(int status) {
    if (!engine_takes_part() || process->exiting)
        return;
    process->exiting = 1;
    struct arrival a = ARRIVAL(engine_hook(HOOK_PROCESS_EXIT), SIDE_ENTER);
    a.sp = (uintptr_t)__builtin_frame_address(0);
    a.attr[0] = (struct arrival_attr){.id = ATTR_STATUS, .number = status};
    a.n_attrs = 1;
    if (a.hook != BOARD_NONE)
        engine_arrive(&a);
}

EXPORTED _Noreturn void exit(int status) {
    exit_begins(status);
    get_exit()(status);
    __builtin_unreachable();
}

EXPORTED _Noreturn void _exit(int status) {
    exit_begins(status);
    if (!vfork_state.child)
        process_record_exit(status);
    get__exit()(status);
    __builtin_unreachable();
}

EXPORTED _Noreturn void _Exit(int status) {
    _exit(status);
}

EXPORTED _Noreturn void quick_exit(int status) {
    exit_begins(status);
    process_record_exit(status);
    get_quick_exit()(status);
    __builtin_unreachable();
}

/* main's return never passes through a relocation of the program, so main itself is wrapped. */
static main_function program_main;

static int run_main(int argc, char **argv, char **envp) {
    int status = program_main(argc, argv, envp);
    exit_begins(status);
    return status;
}

int __libc_start_main(main_function main, int argc, char **argv, main_function init,
                      void (*fini)(void), void (*rtld_fini)(void), void *stack_end);
EXPORTED int __libc_start_main(main_function main, int argc, char **argv, main_function init,
                               void (*fini)(void), void (*rtld_fini)(void), void *stack_end) {
    process_start();
    program_main = main;
    return get___libc_start_main()(run_main, argc, argv, init, fini, rtld_fini, stack_end);
}
