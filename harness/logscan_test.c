/* Log texts, each as a real program printed it (paths and counts shortened), and what is read from
 * them: kind, source, process, stacks, signature. Every report is read a second time with other
 * addresses, which must give the same signature.
 */
#include "logscan.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log_report.h"
#include "log_text.h"
#include "signature.h"

static int failed, checked;
static void check(bool ok, const char *what, const char *more) {
    checked++;
    if (ok)
        return;
    printf("  FAILED: %s: %s\n", what, more);
    failed = 1;
}

static void sign(struct logscan *s) {
    for (int i = 0; i < s->found.n; i++)
        s->found.finding[i].signature = signature_of(&s->found.finding[i]);
}

/* ---- golden texts ---- */

#define ASAN_TAIL "    #2 0x7f5a52045249 in __libc_start_call_main ../sysdeps/nptl/x.h:58\n"
#define ASAN_FREE                                                                                  \
    "    #0 0x7f32472b76a8 in __interceptor_free ../../../../src/libsanitizer/asan/m.cpp:52 "      \
    "(libasan.so.8+0xb76a8)\n"
#define ASAN_MALLOC                                                                                \
    "    #0 0x7f32472b89cf in __interceptor_malloc ../../../../src/libsanitizer/asan/m.cpp:69 "    \
    "(libasan.so.8+0xb89cf)\n"
#define TSAN_LOCK                                                                                  \
    "    #0 pthread_mutex_lock ../../../../src/libsanitizer/sanitizer_common/i.inc:4324 "          \
    "(libtsan.so.2+0x558e1)\n"

static const struct {
    const char *name, *text, *source, *signature;
    unsigned pid;
} golden[] = {
    {"ASan heap-use-after-free, three stacks, with modules",
     "=================================================================\n"
     "==6366==ERROR: AddressSanitizer: heap-use-after-free on address 0x604000000010 at pc "
     "0x55975b89d22b bp 0x7ffc8df512c0 sp 0x7ffc8df512b8\n"
     "READ of size 4 at 0x604000000010 thread T0\n"
     "    #0 0x55975b89d22a in reader /src/uaf.c:5 (app+0x122a)\n"
     "    #1 0x55975b89d323 in main /src/uaf.c:8 (app+0x1323)\n" ASAN_TAIL "\n"
     "0x604000000010 is located 0 bytes inside of 40-byte region [0x604000000010,0x604000000038)\n"
     "freed by thread T1 here:\n" ASAN_FREE
     "    #1 0x55975b89d23a in owner /src/uaf.c:6 (app+0x123a)\n"
     "    #2 0x55975b89d245 in thread /src/uaf.c:7 (app+0x1245)\n"
     "    #3 0x7f0bb1ea71f4 in start_thread nptl/pthread_create.c:442 (libc.so.6+0x891f4)\n\n"
     "previously allocated by thread T0 here:\n" ASAN_MALLOC
     "    #1 0x55975b89d2bb in main /src/uaf.c:8 (app+0x12bb)\n\n"
     "Thread T1 created by T0 here:\n"
     "    #0 0x7fa279c49726 in __interceptor_pthread_create ../../x.cpp:207\n"
     "    #1 0x55cd26ab0300 in spawner /src/uaf.c:8\n\n"
     "SUMMARY: AddressSanitizer: heap-use-after-free /src/uaf.c:5 in reader\n"
     "Shadow bytes around the buggy address:\n"
     "==6366==ABORTING\n",
     "asan", "heap-use-after-free:use=app!reader<main;free=app!owner<thread;alloc=app!main", 6366},
    {"ASan in C++: template arguments, parameters and the library's frames go",
     "==7==ERROR: AddressSanitizer: heap-use-after-free on address 0x602000000010 at pc 0x1 bp "
     "0x2\n"
     "READ of size 4 at 0x602000000010 thread T0\n"
     "    #0 0x55aec63d06a1 in mp::Waiter<int>::get(std::__cxx11::basic_string<char, "
     "std::char_traits<char>, std::allocator<char> > const&) const /src/cpp.cc:5\n"
     "    #1 0x55aec63d0393 in go(mp::Waiter<int>&) [clone .isra.0] /src/cpp.cc:6\n\n"
     "freed by thread T0 here:\n"
     "    #0 0x7f3f1e0ba3c8 in operator delete(void*, unsigned long) "
     "../../../../src/libsanitizer/asan/n.cpp:164\n"
     "    #1 0x55aec63d0569 in std::default_delete<int>::operator()(int*) const "
     "/usr/include/c++/12/bits/unique_ptr.h:95\n"
     "    #2 0x55aec63d0569 in main /src/cpp.cc:7\n\n"
     "SUMMARY: AddressSanitizer: heap-use-after-free /src/cpp.cc:5 in x\n",
     "asan", "heap-use-after-free:use=mp::Waiter::get<go;free=main", 7},
    {"ASan without symbols",
     "==9==ERROR: AddressSanitizer: heap-use-after-free on address 0x604000000010 at pc 0x1 bp "
     "0x2\n"
     "READ of size 4 at 0x604000000010 thread T0\n"
     "    #0 0x555bc707022a  (/opt/x/app+0x122a) (BuildId: 0123abcd)\n"
     "    #1 0x7f0d45cd8249  (/lib/x86_64-linux-gnu/libc.so.6+0x27249)\n",
     "asan", "heap-use-after-free:use=app+?", 9},
    {"ASan stack-use-after-return, with the dead frame",
     "==6326==ERROR: AddressSanitizer: stack-use-after-return on address 0x7f8057700060 at pc 0x1\n"
     "WRITE of size 1 at 0x7f8057700060 thread T1\n"
     "    #0 0x557c7bf132c0 in release /src/sur.c:6\n"
     "    #1 0x7f80598a71f4 in start_thread nptl/pthread_create.c:442\n\n"
     "Address 0x7f8057700060 is located in stack of thread T0 at offset 32 in frame\n"
     "    #0 0x557c7bf131c8 in init /src/sur.c:5\n\n"
     "  This frame has 1 object(s):\n"
     "    [32, 33) 'active' (line 5) <== Memory access at offset 32 is inside this variable\n"
     "SUMMARY: AddressSanitizer: stack-use-after-return /src/sur.c:6 in release\n",
     "asan", "stack-use-after-return:use=release;dead-frame=init", 6326},
    {"ASan double free",
     "==6313==ERROR: AddressSanitizer: attempting double-free on 0x604000000010 in thread "
     "T0:\n" ASAN_FREE "    #1 0x561aa4aa1171 in drop /src/df.c:2\n\n"
     "0x604000000010 is located 0 bytes inside of 40-byte region [0x604000000010,0x604000000038)\n"
     "freed by thread T0 here:\n" ASAN_FREE "    #1 0x561aa4aa1171 in drop /src/df.c:2\n\n"
     "previously allocated by thread T0 here:\n" ASAN_MALLOC
     "    #1 0x561aa4aa1186 in main /src/df.c:3\n\n"
     "SUMMARY: AddressSanitizer: double-free x in __interceptor_free\n",
     "asan", "double-free:use=drop;free=drop;alloc=main", 6313},
    {"ASan free of what is no block",
     "==6309==ERROR: AddressSanitizer: attempting free on address which was not malloc()-ed: "
     "0x604000000018 in thread T0\n" ASAN_FREE "    #1 0x55be4b28517f in main /src/badfree.c:2\n",
     "asan", "heap-corruption:use=main", 6309},
    {"ASan heap-buffer-overflow",
     "==6482==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x604000000038 at pc 0x1\n"
     "WRITE of size 1 at 0x604000000038 thread T0\n"
     "    #0 0x557408a7c1da in main /src/hbo.c:2\n\n"
     "allocated by thread T0 here:\n" ASAN_MALLOC "    #1 0x557408a7c191 in maker /src/hbo.c:2\n",
     "asan", "heap-corruption:use=main;alloc=maker", 6482},
    {"ASan alloc-dealloc-mismatch",
     "==6483==ERROR: AddressSanitizer: alloc-dealloc-mismatch (operator new [] vs free) on "
     "0x602000000010\n" ASAN_FREE "    #1 0x557a0af5318a in main /src/mismatch.cc:2\n",
     "asan", "heap-corruption:use=main", 6483},
    {"ASan SEGV",
     "AddressSanitizer:DEADLYSIGNAL\n"
     "==6324==ERROR: AddressSanitizer: SEGV on unknown address 0x000000000008 (pc 0x561ca66ec178 "
     "bp "
     "0x7ffe122089c0 sp 0x7ffe122089b8 T0)\n"
     "==6324==The signal is caused by a READ memory access.\n"
     "==6324==Hint: address points to the zero page.\n"
     "    #0 0x561ca66ec178 in deref /src/segv.c:1\n"
     "    #1 0x561ca66ec192 in main /src/segv.c:2\n",
     "asan", "crash:use=deref<main", 6324},
    {"ASan ABRT: the way to abort is left out",
     "==6307==ERROR: AddressSanitizer: ABRT on unknown address 0x0000000018a3 (pc 0x1 bp 0x2 T0)\n"
     "    #0 0x7f1f476a8eec in __pthread_kill_implementation nptl/pthread_kill.c:44\n"
     "    #1 0x7f1f47659fb1 in __GI_raise ../sysdeps/posix/raise.c:26\n"
     "    #2 0x7f1f47644471 in __GI_abort stdlib/abort.c:79\n"
     "    #3 0x556f5349c1b5 in check /src/asrt.c:2\n",
     "asan", "abort:use=check", 6307},
    {"ASan's own check",
     "==12==AddressSanitizer: CHECK failed: asan_allocator.cpp:189 \"((old)) == "
     "((kAllocBegMagic))\" "
     "(0x0, 0xcc6e96b9cc6e96b9) (tid=12)\n",
     "asan", "assertion", 12},
    {"LSan",
     "==6318==ERROR: LeakSanitizer: detected memory leaks\n\n"
     "Direct leak of 77 byte(s) in 1 object(s) allocated from:\n" ASAN_MALLOC
     "    #1 0x56345df50176 in lose /src/leak.c:2\n    #2 0x56345df501a0 in main /src/leak.c:3\n\n"
     "SUMMARY: AddressSanitizer: 77 byte(s) leaked in 1 allocation(s).\n",
     "lsan", "leak:alloc=lose<main", 6318},
    {"TSan data race: the order of the two accesses is chance",
     "==================\n"
     "WARNING: ThreadSanitizer: data race (pid=6338)\n"
     "  Write of size 4 at 0x55a6c8fa9054 by main thread:\n"
     "    #0 main /src/race.c:4 (race+0x123f)\n\n"
     "  Previous write of size 4 at 0x55a6c8fa9054 by thread T1:\n"
     "    #0 inc /src/race.c:3 (race+0x11d8)\n\n"
     "  Location is global 'n' of size 4 at 0x55a6c8fa9054 (race+0x4054)\n\n"
     "  Thread T1 (tid=6340, finished) created by main thread at:\n"
     "    #0 pthread_create ../../../../src/libsanitizer/tsan/i.cpp:1001 (libtsan.so.2+0x5e686)\n"
     "    #1 main /src/race.c:4 (race+0x121f)\n\n"
     "SUMMARY: ThreadSanitizer: data race /src/race.c:4 in main\n==================\n",
     "tsan", "data-race:use=race!inc;previous=race!main", 6338},
    {"TSan data race on heap data: the allocation is no third access",
     "WARNING: ThreadSanitizer: data race (pid=2)\n"
     "  Read of size 4 at 0x7b0c00000000 by thread T2:\n    #0 zap /src/r.c:4 (race+0x123f)\n\n"
     "  Previous atomic write of size 4 at 0x7b0c00000000 by thread T1:\n"
     "    #0 inc /src/r.c:3 (race+0x11d8)\n\n"
     "  Location is heap block of size 4 at 0x7b0c00000000 allocated by main thread:\n"
     "    #0 aaa /src/r.c:9 (race+0x1300)\n\n"
     "SUMMARY: ThreadSanitizer: data race /src/r.c:4 in zap\n",
     "tsan", "data-race:use=race!inc;previous=race!zap;alloc=race!aaa", 2},
    {"TSan heap-use-after-free: the previous write is the free",
     "WARNING: ThreadSanitizer: heap-use-after-free (pid=6348)\n"
     "  Read of size 4 at 0x7b0c00000000 by main thread:\n"
     "    #0 reader /src/uaf.c:5 (uaf+0x120e)\n    #1 main /src/uaf.c:8 (uaf+0x12e2)\n\n"
     "  Previous write of size 8 at 0x7b0c00000000 by thread T1:\n"
     "    #0 free ../../../../src/libsanitizer/tsan/i.cpp:706 (libtsan.so.2+0x47e82)\n"
     "    #1 owner /src/uaf.c:6 (uaf+0x123f)\n\n"
     "SUMMARY: ThreadSanitizer: heap-use-after-free /src/uaf.c:5 in reader\n",
     "tsan", "heap-use-after-free:use=uaf!reader<main;free=uaf!owner", 6348},
    {"TSan lock-order-inversion",
     "WARNING: ThreadSanitizer: lock-order-inversion (potential deadlock) (pid=6332)\n"
     "  Cycle in lock order graph: M0 (0x55df0230b0c0) => M1 (0x55df0230b080) => M0\n\n"
     "  Mutex M1 acquired here while holding mutex M0 in thread T1:\n" TSAN_LOCK
     "    #1 ab /src/abba.c:3 (abba+0x11d6)\n\n"
     "  Mutex M0 previously acquired by the same thread here:\n" TSAN_LOCK
     "    #1 other /src/abba.c:3 (abba+0x11d6)\n\n"
     "  Mutex M0 acquired here while holding mutex M1 in main thread:\n" TSAN_LOCK
     "    #1 ba /src/abba.c:4 (abba+0x1242)\n\n"
     "SUMMARY: ThreadSanitizer: lock-order-inversion (potential deadlock) /src/abba.c:3 in ab\n",
     "tsan", "deadlock:use=abba!ab;previous=abba!ba", 6332},
    {"TSan unlock of an unlocked mutex",
     "WARNING: ThreadSanitizer: unlock of an unlocked mutex (or by a wrong thread) (pid=6336)\n"
     "    #0 pthread_mutex_unlock ../../../../src/libsanitizer/x.inc:4338 (libtsan.so.2+0x439f1)\n"
     "    #1 bad_unlock /src/locks.c:3 (locks+0x11be)\n\n"
     "  Mutex M0 (0x7b0c00000000) created at:\n"
     "    #0 pthread_mutex_init ../../../../src/libsanitizer/x.cpp:1295 (libtsan.so.2+0x50468)\n"
     "    #1 main /src/locks.c:6 (locks+0x122c)\n\n"
     "SUMMARY: ThreadSanitizer: unlock of an unlocked mutex /src/locks.c:3 in bad_unlock\n",
     "tsan", "lock-misuse:use=locks!bad_unlock", 6336},
    {"TSan use of a destroyed mutex, its creation not restored",
     "WARNING: ThreadSanitizer: use of an invalid mutex (e.g. uninitialized or destroyed) "
     "(pid=6336)\n" TSAN_LOCK "    #1 late_use /src/locks.c:5 (locks+0x11db)\n\n"
     "  Mutex M0 (0x7b0c00000000) created at:\n    [failed to restore the stack]\n\n"
     "SUMMARY: ThreadSanitizer: use of an invalid mutex /src/locks.c:5 in late_use\n",
     "tsan", "lock-misuse:use=locks!late_use", 6336},
    {"TSan thread leak",
     "WARNING: ThreadSanitizer: thread leak (pid=6344)\n"
     "  Thread T1 (tid=6346, finished) created by main thread at:\n"
     "    #0 pthread_create ../../../../src/libsanitizer/x.cpp:1001 (libtsan.so.2+0x5e686)\n"
     "    #1 main /src/tleak.c:4 (tleak+0x11a5)\n\nSUMMARY: ThreadSanitizer: thread leak x\n",
     "tsan", "leak:alloc=tleak!main", 6344},
    {"TSan SEGV",
     "==6342==ERROR: ThreadSanitizer: SEGV on unknown address 0x000000000008 (pc 0x1 bp 0x2 "
     "T6342)\n"
     "    #0 deref /src/segv.c:1 (segv+0x117f)\n    #1 main <null> (segv+0x11a5)\n",
     "tsan", "crash:use=segv!deref<main", 6342},
    {"UBSan with a stack",
     "ub.c:3:56: runtime error: signed integer overflow: 2147483647 + 1 cannot be represented\n"
     "    #0 0x5630bd72e165 in add /src/ub.c:3\n    #1 0x5630bd72e177 in main /src/ub.c:4\n\n",
     "ubsan", "assertion:use=add<main", 0},
    {"UBSan without one: the file stands for the function",
     "/src/ub.c:3:56: runtime error: load of null pointer of type 'int'\nnext line\n", "ubsan",
     "assertion:use=ub.c", 0},
    {"glibc: double free", "free(): double free detected in tcache 2\n", "glibc", "double-free", 0},
    {"glibc: double free, as 2.26 wrote it",
     "*** Error in `./app': double free or corruption (fasttop): 0x0000000001c9d010 ***\n", "glibc",
     "double-free", 0},
    {"glibc: heap corruption", "malloc(): unsorted double linked list corrupted\n", "glibc",
     "heap-corruption", 0},
    {"glibc: sizes", "corrupted size vs. prev_size while consolidating\n", "glibc",
     "heap-corruption", 0},
    {"glibc: munmap_chunk", "munmap_chunk(): invalid pointer\n", "glibc", "heap-corruption", 0},
    {"glibc: consolidate", "malloc_consolidate(): invalid chunk size\n", "glibc", "heap-corruption",
     0},
    {"glibc: stack smashing", "*** stack smashing detected ***: terminated\n", "glibc",
     "heap-corruption", 0},
    {"glibc: assert", "app: check.c:2: check: Assertion `n == 0' failed.\n", "assert",
     "assertion:use=app!check", 0},
    {"glibc: assert in C++",
     "app: a.cc:12: void mp::Waiter<T>::wait(int) [with T = int]: Assertion `m_loop' failed.\n",
     "assert", "assertion:use=app!mp::Waiter::wait", 0},
    {"glibc's own assertion",
     "Fatal glibc error: pthread_mutex_lock.c:94 (___pthread_mutex_lock): assertion failed: "
     "mutex->__data.__owner == 0\n",
     "assert", "assertion:use=libc.so.6!___pthread_mutex_lock", 0},
    {"an assertion as BSD writes it", "assertion \"m_loop\" failed: file \"x.cpp\", line 9\n",
     "assert", "assertion", 0},
    {"terminate, with what()",
     "terminate called after throwing an instance of 'std::runtime_error'\n  what():  no loop\n",
     "assert", "assertion", 0},
    {"pure virtual call", "pure virtual method called\n", "assert", "abort", 0},
    {"Open MPI's block; the return from the handler is no frame",
     "[vm:06558] *** Process received signal ***\n"
     "[vm:06558] Signal: Segmentation fault (11)\n"
     "[vm:06558] Signal code: Address not mapped (1)\n"
     "[vm:06558] Failing at address: 0x8\n"
     "[vm:06558] [ 0] /lib/x86_64-linux-gnu/libc.so.6(+0x3c050)[0x7fdc65e1a050]\n"
     "[vm:06558] [ 1] ./app(deref+0x19)[0x5627de703169]\n"
     "[vm:06558] [ 2] /usr/lib/libx.so.4(+0x11cf)[0x5627de7031cf]\n"
     "[vm:06558] [ 3] /lib/x86_64-linux-gnu/libc.so.6(__libc_start_main+0x85)[0x7fdc65e05305]\n"
     "[vm:06558] *** End of error message ***\n",
     "signal", "crash:use=app!deref<libx.so.4+?", 6558},
    {"UCX's block",
     "[n1:77   :0:77] Caught signal 11 (Segmentation fault: address not mapped to object at "
     "address "
     "0x8)\n==== backtrace (tid:     77) ====\n"
     " 0 0x000000000003c050 __restore_rt()  ???:0\n"
     " 1  /opt/app(record+0x12) [0x55d0]\n=================================\n",
     "signal", "crash:use=app!record", 77},
    {"Open MPI's block about an abort",
     "[vm:00012] *** Process received signal ***\n[vm:00012] Signal: Aborted (6)\n"
     "[vm:00012] *** End of error message ***\n",
     "signal", "abort", 12},
    {"the launcher's words", /* broken between words, as PRRTE does */
     "prterun noticed that process rank 5 with PID 3105 on node foo exited on\nsignal 11 "
     "(Segmentation fault).\n",
     "signal", "crash", 3105},
};
enum { GOLDEN = sizeof golden / sizeof *golden };

/* The same text from another run: every address is another. Offsets in modules stay. */
static char *other_addresses(const char *text) {
    char *copy = strdup(text);
    for (char *s = copy; (s = strstr(s, "0x")); s += 2)
        for (char *d = s + 2; (s == copy || s[-1] != '+') && isxdigit((unsigned char)*d); d++)
            *d = *d == 'f' || *d == '9' ? '1' : (char)(*d + 1);
    return copy;
}

static void scan_text(struct logscan *s, const char *text, int rank) {
    logscan_bytes(s, text, strlen(text), "rank.0.err", rank);
    sign(s);
}

static void test_golden(void) {
    for (int i = 0; i < GOLDEN; i++) {
        struct logscan s = {0}, again = {0};
        char *other = other_addresses(golden[i].text);
        scan_text(&s, golden[i].text, 0);
        scan_text(&again, other, 0);
        check(s.found.n == 1, golden[i].name, "not exactly one finding");
        if (s.found.n == 1 && again.found.n == 1) {
            const struct finding *f = &s.found.finding[0];
            check(strcmp(f->signature, golden[i].signature) == 0, golden[i].name, f->signature);
            check(strcmp(f->source, golden[i].source) == 0, golden[i].name, f->source);
            check(f->pid == golden[i].pid, golden[i].name, "the process is another");
            check(strcmp(f->signature, again.found.finding[0].signature) == 0, golden[i].name,
                  "other addresses, other signature");
        } else {
            check(again.found.n == s.found.n, golden[i].name, "other addresses, other findings");
        }
        logscan_clear(&s);
        logscan_clear(&again);
        free(other);
    }
}

/* A log that ends in the middle of a report, at every byte of it, must be read without harm. */
static void test_cut_anywhere(void) {
    for (int i = 0; i < GOLDEN; i++)
        for (size_t n = 0; n < strlen(golden[i].text); n++) {
            struct logscan s = {0};
            char *cut = malloc(n ? n : 1); /* exact, so that ASan sees a read past the end */
            memcpy(cut, golden[i].text, n);
            logscan_bytes(&s, cut, n, "cut", 0);
            check(s.found.n <= 1, golden[i].name, "more than one finding in a part");
            logscan_clear(&s);
            free(cut);
        }
}

static void test_no_findings(void) {
    static const char *const texts[] = {
        "we once saw free(): invalid pointer in production\n",
        "SUMMARY: all good, no ERROR here\n",
        "runtime error: none\n",
        "Assertion `x' holds\n",
        "Caught signal 15 (Terminated)\n",
        "mpirun noticed that process rank 1 with PID 0 on node n exited on signal 15 (Term).\n",
        "he said: terminate called without an active exception\n",
        "free(): double free detected in tcache 2, said the manual\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct logscan s = {0};
        scan_text(&s, texts[i], 0);
        check(s.found.n == 0, "no finding in", texts[i]);
        logscan_clear(&s);
    }
}

static void test_odd_bytes(void) {
    static const char text[] = "\0\0\033[1mnoise\0\n\0free(): inv\0alid pointer\r\n\xff\xfe";
    struct logscan s = {0};
    logscan_bytes(&s, text, sizeof text - 1, "merged", 3);
    sign(&s);
    check(s.found.n == 1, "NUL bytes inside a text", "not taken out");
    logscan_clear(&s);
    static const char clean[] = "\0\0\nx\0y\n\0\0free(): invalid pointer\0\r\n\xff\xfe";
    logscan_bytes(&s, clean, sizeof clean - 1, "merged", 3);
    sign(&s);
    check(s.found.n == 1 && s.found.finding[0].rank == 3, "NUL bytes around a text", "not found");
    logscan_clear(&s);
}

/* mpirun --tag-output: two ranks' reports interleaved line by line. */
static void test_tagged(void) {
    static const char text[] =
        "[1,0]<stderr>:==10==ERROR: AddressSanitizer: heap-use-after-free on address 0x1 at pc "
        "0x2\n"
        "[1,3]<stderr>:==13==ERROR: AddressSanitizer: heap-use-after-free on address 0x1 at pc "
        "0x2\n"
        "[1,0]<stderr>:    #0 0x1 in zero /a.c:1\n[1,3]<stderr>:    #0 0x1 in three /a.c:1\n"
        "[1,0]<stderr>:    #1 0x1 in main /a.c:2\n[1,3]<stderr>:SUMMARY: AddressSanitizer: x\n"
        "[1,0]<stderr>:SUMMARY: AddressSanitizer: x\n";
    struct logscan s = {0};
    scan_text(&s, text, -1);
    check(s.found.n == 2, "tagged output", "not two findings");
    if (s.found.n == 2) {
        check(s.found.finding[0].rank == 0 && s.found.finding[1].rank == 3, "tagged output",
              "ranks");
        check(strcmp(s.found.finding[0].signature, "heap-use-after-free:use=zero<main") == 0,
              "tagged output", s.found.finding[0].signature);
        check(strcmp(s.found.finding[1].signature, "heap-use-after-free:use=three") == 0,
              "tagged output", s.found.finding[1].signature);
    }
    logscan_clear(&s);
}

static const struct log_note *only_note(const struct logscan *s, enum log_note_kind kind) {
    return s->n_notes == 1 && s->note[0].kind == kind ? &s->note[0] : NULL;
}

static void test_notes(void) {
    struct logscan s = {0};
    scan_text(&s, "x\n--- holdpoint: end of log, rank 4, 2 bytes ---\n", 4);
    check(only_note(&s, NOTE_END) && s.note[0].whole, "end mark", "not whole");
    logscan_clear(&s);
    scan_text(&s, "x\n--- holdpoint: end of log, rank 4, 2000 bytes ---\n", 4);
    check(only_note(&s, NOTE_END) && !s.note[0].whole, "end mark of a cut log", "taken for whole");
    logscan_clear(&s);
    scan_text(&s, "x\n--- holdpoint: end of log, rank 4, 1 bytes ---\n", 4);
    check(only_note(&s, NOTE_END) && s.note[0].whole, "end mark after an added newline",
          "not whole");
    logscan_clear(&s);
    scan_text(&s, "holdpoint-workload: done init=fails code=14\n", 2);
    check(only_note(&s, NOTE_DONE) && s.note[0].rank == 2, "done line", "not noted");
    logscan_clear(&s);
    scan_text(&s, "he printed holdpoint-workload: done\n", 2);
    check(s.n_notes == 0, "done line inside another", "noted");
    logscan_clear(&s);
    scan_text(&s, "==5==ASan runtime does not come first in initial library list; you should\n", 2);
    check(only_note(&s, NOTE_SANITIZER_REFUSED) != NULL, "sanitizer refused", "not noted");
    logscan_clear(&s);
    scan_text(&s, "ERROR: ld.so: object 'x.so' from LD_PRELOAD cannot be preloaded: ignored.\n", 2);
    check(only_note(&s, NOTE_PRELOAD_REFUSED) != NULL, "preload refused", "not noted");
    logscan_clear(&s);
}

/* 30000 lines of a program, then an end mark. */
static void scan_many(struct logscan *s, const char *line) {
    size_t one = strlen(line), n = 30000 * one;
    char *text = malloc(n + 100);
    for (size_t i = 0; i < 30000; i++)
        memcpy(text + i * one, line, one);
    int more = sprintf(text + n, "--- holdpoint: end of log, rank 0, %zu bytes ---\n", n);
    logscan_bytes(s, text, n + (size_t)more, "big", 0);
    free(text);
}

static void test_too_many(void) {
    struct logscan s = {0};
    scan_many(&s, "a.c:1:2: runtime error: x\n");
    bool end = false, full = false;
    for (int i = 0; i < s.n_notes; i++) {
        end |= s.note[i].kind == NOTE_END && s.note[i].whole;
        full |= s.note[i].kind == NOTE_TOO_MANY;
    }
    check(full && s.found.n == 1000, "more reports than are read", "not said");
    check(end, "end mark behind them", "lost");
    logscan_clear(&s);
    scan_many(&s, "trace: free(): called\n");
    check(s.n_notes == 1 && s.note[0].kind == NOTE_END && s.found.n == 0,
          "many lines that only look like reports", "taken for some, or for too many");
    logscan_clear(&s);
}

int main(void) {
    test_golden();
    test_cut_anywhere();
    test_no_findings();
    test_odd_bytes();
    test_tagged();
    test_notes();
    test_too_many();
    printf("  %d texts, %d checks: %s\n", GOLDEN, checked, failed ? "FAILED" : "ok");
    return failed;
}
