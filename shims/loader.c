/* Notice of objects that are loaded later. r_debug.r_brk is an empty function that the loader calls
 * whenever its list of objects changes; we put a jump there. No dlopen wrapper, so callers keep
 * their own search paths. Source: <link.h>; facts: nccl-without-gpu 3.4. */
#include "loader.h"
#include "arch/x86_64/arch.h"
#include "process.h"

#include <link.h>
#include <string.h>
#include <sys/mman.h>

static void (*tell)(void);

static void loader_event(void) {
    if (_r_debug.r_state == RT_CONSISTENT && process_armed())
        tell();
}

void loader_start(void (*changed)(void)) {
    unsigned char *code = (unsigned char *)_r_debug.r_brk;
    uintptr_t page = (uintptr_t)code & ~(uintptr_t)4095;
    tell = changed;
    if (!code || !arch_is_empty_function(code)) {
        process_problem("this C library's loader gives no notice of objects that are loaded later: "
                        "call: hooks do not "
                        "reach into them");
        return;
    }
    if (mprotect((void *)page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC)) {
        process_problem("the kernel refuses to patch the loader's breakpoint: call: hooks do not "
                        "reach objects that are "
                        "loaded later");
        return;
    }
    arch_write_jump(code, (const void *)(uintptr_t)loader_event);
    mprotect((void *)page, 8192, PROT_READ | PROT_EXEC);
}
