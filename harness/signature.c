/* Signatures; see signature.h. Runs in the collector. */
#include "signature.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocate.h"
#include "findings.h"

enum { MOST_FRAMES = 3 };

const char signature_note[] =
    "kind, then for each stack its role and at most 3 innermost frames, innermost first, joined by "
    "'<'; without template arguments, parameters, clones and offsets, and without the frames of "
    "sanitizers, the shim, libc and C++'s own run time";

/* ---- a function's name ---- */

/* Copies the operator's own characters, which may be brackets that are none. Returns how many of
 * `s`. */
static size_t copy_operator(const char *s, char *to, size_t *n) {
    size_t i = strlen("operator");
    if (strncmp(s + i, "()", 2) == 0 || strncmp(s + i, "[]", 2) == 0)
        i += 2;
    else
        i += strspn(s + i, "<>=!+-*/%^&|~,");
    if (s[i] == ' ') /* operator new[], operator delete, a conversion */
        i += strcspn(s + i, "(<");
    memcpy(to + *n, s, i);
    *n += i;
    return i;
}

static bool starts_operator(const char *begin, const char *s) {
    return strncmp(s, "operator", 8) == 0 && !isalnum((unsigned char)s[8]) && s[8] != '_' &&
           (s == begin || (!isalnum((unsigned char)s[-1]) && s[-1] != '_'));
}

/* Cuts ".isra.0", ".cold", "@@GLIBC_2.2.5", "@plt" " [clone .x]" and " [with T = int]" off. */
static void cut_suffixes(char *name) {
    static const char *const notes[] = {" [clone ", " [with ", " [abi:"};
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++) {
        char *note = strstr(name, notes[i]);
        if (note)
            *note = 0;
    }
    char *version = strchr(name, '@');
    if (version && version != name)
        *version = 0;
    static const char *const clones[] = {".isra.",     ".constprop.", ".part.",  ".cold",
                                         ".lto_priv.", ".llvm.",      ".clone.", ".localalias",
                                         ".ifunc",     ".resolver"};
    for (size_t i = 0; i < sizeof clones / sizeof *clones; i++) {
        char *at = strstr(name, clones[i]);
        if (at && at != name)
            *at = 0;
    }
}

/* Drops what stands in <> and () at any depth, except an anonymous namespace. */
static char *without_arguments(const char *name) {
    char *out = allocate(strlen(name) + 1, 1);
    size_t n = 0, word = 0; /* word: where the name proper begins, after a return type */
    int depth = 0;
    bool in_operator = false;
    for (const char *s = name; *s;) {
        static const char anonymous[] = "(anonymous namespace)";
        if (depth == 0 && strncmp(s, anonymous, sizeof anonymous - 1) == 0) {
            memcpy(out + n, anonymous, sizeof anonymous - 1);
            n += sizeof anonymous - 1;
            s += sizeof anonymous - 1;
        } else if (depth == 0 && starts_operator(name, s)) {
            s += copy_operator(s, out, &n);
            in_operator = true;
        } else if (*s == '(' || *s == '<') {
            depth++;
            s++;
        } else if ((*s == ')' || *s == '>') && depth > 0) {
            depth--;
            s++;
        } else if (depth > 0) {
            s++;
        } else if (strncmp(s, " const", 6) == 0) {
            s += 6;
        } else if (strncmp(s, " &", 2) == 0) {
            s += 2 + (s[2] == '&');
        } else {
            if (*s == ' ' && !in_operator)
                word = n + 1;
            out[n++] = *s++;
        }
    }
    out[n] = 0;
    if (word < n)
        memmove(out, out + word, n - word + 1);
    return out;
}

char *signature_function(const char *name) {
    AUTO_TEXT plain = copy_text(name);
    cut_suffixes(plain);
    return without_arguments(plain);
}

/* ---- which frames count ---- */

static bool matches_any(const char *text, const char *const *globs) {
    for (; *globs; globs++)
        if (fnmatch(*globs, text, 0) == 0)
            return true;
    return false;
}

static bool frame_of_tools(const struct finding_frame *f) {
    static const char *const modules[] = {"libasan.so*", "libtsan.so*",   "libubsan.so*",
                                          "liblsan.so*", "libclang_rt.*", "libholdpoint.so",
                                          NULL};
    static const char *const sources[] = {"*libsanitizer/*", "*compiler-rt/lib/*", NULL};
    static const char *const functions[] = {"__interceptor_*", "__asan_*",   "__tsan_*",
                                            "__ubsan_*",       "__lsan_*",   "__sanitizer_*",
                                            "*__asan::*",      "*__tsan::*", NULL};
    return (f->module && matches_any(basename(f->module), modules)) ||
           (f->source && matches_any(f->source, sources)) ||
           (f->function && matches_any(f->function, functions));
}

/* Frames of libc and of the C++ library: on the way from a mistake to abort, from the kernel to a
 * thread's or program's own first function, inside containers and smart pointers. Which of them
 * have a name depends on the debug packages of the machine. */
static bool frame_of_runtime(const struct finding_frame *f, const char *function) {
    static const char *const libc[] = {"libc.so*", "libpthread.so*", "ld-linux*", NULL};
    static const char *const names[] = {
        "abort", "__GI_abort", "raise", "__GI_raise", "gsignal", "kill", "pthread_kill",
        "__pthread_kill*", "__assert_fail*", "__GI___assert_*", "__libc_message*",
        "malloc_printerr", "_int_free*", "__libc_free", "free", "__GI___libc_free", "__fortify_*",
        "__stack_chk_*", "__restore_rt", "__cxa_*", "std::*", "__gnu_cxx::*", "__cxxabiv1::*",
        "operator new*", "operator delete*", "__libc_start_*", "_start", "start_thread", "clone",
        "clone3", "__clone", "__clone3", "*__nptl_deallocate_tsd", "*__call_tls_dtors",
        /* what this machine's processor chose: */
        "__*_sse2*", "__*_sse4*", "__*_ssse3*", "__*_avx*", "__*_evex*", "__*_erms*", NULL};
    if (!function)
        return f->module && matches_any(basename(f->module), libc);
    return matches_any(function, names);
}

/* Where a thread sleeps for a lock, a condition or another's end. */
static bool frame_of_sleep(const char *function) {
    static const char *const names[] = {"*lll_lock_wait*",
                                        "*futex_*wait*",
                                        "*pthread_mutex_*lock*",
                                        "*pthread_rwlock_*lock*",
                                        "*pthread_cond_*wait*",
                                        "*pthread_*join*",
                                        NULL};
    return function && matches_any(function, names);
}

static void add_frame(FILE *to, const struct finding_frame *f, const char *function,
                      const char **last_module, bool first) {
    const char *module = f->module ? basename(f->module) : NULL;
    if (!first)
        fputc('<', to);
    if (!function) {
        fprintf(to, "%s+?", module ? module : "");
        return;
    }
    if (module && (!*last_module || strcmp(module, *last_module) != 0))
        fprintf(to, "%s!", module);
    if (module)
        *last_module = module;
    fputs(function, to);
}

static char *stack_text(const struct finding_stack *s, enum finding_kind kind) {
    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);
    const char *last_module = NULL;
    int n = 0;
    for (int i = 0; i < s->n && n < MOST_FRAMES; i++) {
        const struct finding_frame *f = &s->frame[i];
        AUTO_TEXT function = f->function ? signature_function(f->function) : NULL;
        if (frame_of_tools(f) || frame_of_runtime(f, function) || (!function && !f->module) ||
            (kind == FINDING_DEADLOCK && frame_of_sleep(function)))
            continue;
        add_frame(to, f, function, &last_module, n++ == 0);
    }
    fclose(to);
    return text;
}

/* Which of two racing accesses a detector names first is chance. */
static bool order_is_chance(enum finding_kind k) {
    return k == FINDING_DATA_RACE || k == FINDING_DEADLOCK;
}

/* Puts the smaller of the two accesses into the role `use`. */
static void order_accesses(const char *const *role, char **stack, int n) {
    int use = -1, previous = -1;
    for (int i = 0; i < n; i++) {
        if (strcmp(role[i], "use") == 0)
            use = i;
        if (strcmp(role[i], "previous") == 0)
            previous = i;
    }
    if (use < 0 || previous < 0 || strcmp(stack[use], stack[previous]) <= 0)
        return;
    char *smaller = stack[previous];
    stack[previous] = stack[use];
    stack[use] = smaller;
}

char *signature_of(const struct finding *f) {
    char *stack[sizeof f->stack / sizeof *f->stack];
    const char *role[sizeof f->stack / sizeof *f->stack];
    int n = 0;
    for (int i = 0; i < f->n_stacks; i++) {
        stack[n] = stack_text(&f->stack[i], f->kind);
        role[n] = f->stack[i].role;
        if (*stack[n])
            n++;
        else
            free(stack[n]);
    }
    if (order_is_chance(f->kind))
        order_accesses(role, stack, n);
    char *text = copy_text(finding_kind_name(f->kind));
    for (int i = 0; i < n; i++) {
        char *longer = format_text("%s%c%s=%s", text, i ? ';' : ':', role[i], stack[i]);
        free(text);
        free(stack[i]);
        text = longer;
    }
    return text;
}

/* ---- known signatures ---- */

static bool glob_matches(const char *glob, const struct finding_frame *f) {
    const char *mark = strchr(glob, '!');
    if (mark) {
        AUTO_TEXT module = copy_part(glob, (size_t)(mark - glob));
        if (fnmatch(module, f->module ? basename(f->module) : "", 0) != 0)
            return false;
        glob = mark + 1;
    }
    if (!f->function)
        return strcmp(glob, "*") == 0;
    AUTO_TEXT function = signature_function(f->function);
    return fnmatch(glob, function, 0) == 0 || fnmatch(glob, f->function, 0) == 0;
}

static bool stack_matches(const struct finding_stack *s, char *const *glob, int n) {
    int matched = 0;
    for (int i = 0; i < s->n && matched < n; i++)
        if (glob_matches(glob[matched], &s->frame[i]))
            matched++;
    return matched == n;
}

/* Whether the known signature's stacks are found; `swap`: with the two racing accesses exchanged.
 */
static bool known_matches(const struct known *k, const struct finding *f, bool swap) {
    for (int i = 0; i < k->n_stacks; i++) {
        const char *role = k->stack[i].role;
        if (swap && strcmp(role, "use") == 0)
            role = "previous";
        else if (swap && strcmp(role, "previous") == 0)
            role = "use";
        const struct finding_stack *s = finding_stack_of(f, role);
        if (!s || !stack_matches(s, k->stack[i].glob, k->stack[i].n))
            return false;
    }
    return true;
}

const struct known *signature_known(const struct known_list *k, const struct finding *f) {
    for (int i = 0; i < k->n; i++)
        if (k->known[i].kind == f->kind &&
            (known_matches(&k->known[i], f, false) ||
             (order_is_chance(f->kind) && known_matches(&k->known[i], f, true))))
            return &k->known[i];
    return NULL;
}
