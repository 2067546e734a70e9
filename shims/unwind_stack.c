/* Stacks of the calling thread. */
#include "unwind_stack.h"
#include "objects.h"
#include "thread.h"

#include <unwind.h>

struct walk {
    struct board_frame *frame;
    uint32_t max, n, depth;
    bool in_handler;
    const void *caller;
    uintptr_t address, high; /* high: the end of the stack that the address lies in */
    const void *previous_code;
    struct frame_owner *owner;
    bool found;
};
enum { MAX_DEPTH = 200 };

static _Unwind_Reason_Code collect(struct _Unwind_Context *c, void *closure) {
    struct walk *w = closure;
    int before_instruction = 0;
    uintptr_t ip = _Unwind_GetIPInfo(c, &before_instruction);
    if (!ip || w->depth++ > MAX_DEPTH)
        return _URC_END_OF_STACK;
    struct object *o = objects_at(ip);
    if (o && o->is_ours)
        return _URC_NO_REASON;
    if (w->n < w->max)
        w->frame[w->n++] = objects_frame((const void *)(before_instruction ? ip : ip - 1));
    return w->n == w->max ? _URC_END_OF_STACK : _URC_NO_REASON;
}

uint32_t unwind_stack(struct board_frame *frame, uint32_t max) {
    struct walk w = {.frame = frame, .max = max};
    _Unwind_Backtrace(collect, &w);
    return w.n;
}

/* Where the linker put our own code. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char etext[] __attribute__((visibility("hidden")));

struct addresses {
    uint64_t *pc;
    uint32_t max, n, depth;
};

static _Unwind_Reason_Code collect_address(struct _Unwind_Context *c, void *closure) {
    struct addresses *w = closure;
    int before_instruction = 0;
    uintptr_t ip = _Unwind_GetIPInfo(c, &before_instruction);
    if (!ip || w->n == w->max || w->depth++ > MAX_DEPTH)
        return _URC_END_OF_STACK;
    if (ip < (uintptr_t)__ehdr_start || ip >= (uintptr_t)etext)
        w->pc[w->n++] = before_instruction ? ip : ip - 1;
    return w->n == w->max ? _URC_END_OF_STACK : _URC_NO_REASON;
}

void unwind_addresses(uint64_t *pc, uint32_t max) {
    struct addresses w = {.pc = pc, .max = max};
    _Unwind_Backtrace(collect_address, &w);
    if (w.n < max)
        pc[w.n] = 0;
}

struct interrupted {
    struct addresses rest;
    uintptr_t instruction;
    bool reached;
};

static _Unwind_Reason_Code collect_interrupted(struct _Unwind_Context *c, void *closure) {
    struct interrupted *w = closure;
    int before_instruction = 0;
    uintptr_t ip = _Unwind_GetIPInfo(c, &before_instruction);
    if (w->reached)
        return collect_address(c, &w->rest);
    w->reached = before_instruction && ip == w->instruction;
    return !ip || w->rest.depth++ > MAX_DEPTH ? _URC_END_OF_STACK : _URC_NO_REASON;
}

void unwind_interrupted(uint64_t *pc, uint32_t max, uintptr_t instruction) {
    struct interrupted w = {.rest = {.pc = pc, .max = max}, .instruction = instruction};
    if (instruction < (uintptr_t)__ehdr_start || instruction >= (uintptr_t)etext)
        pc[w.rest.n++] = instruction + 1; /* all others are return addresses */
    _Unwind_Backtrace(collect_interrupted, &w);
    if (w.rest.n < max)
        pc[w.rest.n] = 0;
}

/* ---- stacks that were walked before ---- */

enum { REMEMBERED_STACKS = 4 };
struct remembered {
    uint32_t n, depth;
    bool whole; /* every frame is where its return address says */
    const uintptr_t *slot[UNWIND_REMEMBERED];
    uintptr_t value[UNWIND_REMEMBERED];
};
static __thread struct remembered walked[REMEMBERED_STACKS];
static __thread uint32_t next_walked;

static _Unwind_Reason_Code collect_slot(struct _Unwind_Context *c, void *closure) {
    struct remembered *w = closure;
    int before_instruction = 0;
    uintptr_t ip = _Unwind_GetIPInfo(c, &before_instruction);
    if (!ip || w->depth++ > MAX_DEPTH)
        return _URC_END_OF_STACK;
    if (ip >= (uintptr_t)__ehdr_start && ip < (uintptr_t)etext)
        return _URC_NO_REASON;
    w->slot[w->n] = (const uintptr_t *)_Unwind_GetCFA(c) - 1; /* see look_for_owner */
    w->whole &= !before_instruction && *w->slot[w->n] == ip;
    w->value[w->n++] = before_instruction ? ip + 1 : ip;
    return w->n == UNWIND_REMEMBERED ? _URC_END_OF_STACK : _URC_NO_REASON;
}

/* The slots lie on this thread's stack above `frame`, so they can be read. */
static bool is_same(const struct remembered *w, const uintptr_t *first, uintptr_t high) {
    if (!w->whole || !w->n || w->slot[0] != first || (uintptr_t)w->slot[w->n - 1] >= high)
        return false;
    for (uint32_t i = 0; i < w->n; i++)
        if (*w->slot[i] != w->value[i])
            return false;
    return true;
}

void unwind_remembered(uint64_t *pc, const void *frame) {
    uintptr_t low, high;
    const uintptr_t *first = (const uintptr_t *)frame + 1; /* above the saved frame pointer */
    const struct remembered *found = NULL;
    thread_stack(&low, &high);
    for (uint32_t i = 0; i < REMEMBERED_STACKS && !found; i++)
        if (is_same(&walked[i], first, high))
            found = &walked[i];
    if (!found) {
        struct remembered *w = &walked[next_walked++ % REMEMBERED_STACKS];
        *w = (struct remembered){.whole = true};
        _Unwind_Backtrace(collect_slot, w);
        found = w;
    }
    for (uint32_t i = 0; i < UNWIND_REMEMBERED; i++)
        pc[i] = i < found->n ? found->value[i] - 1 : 0;
}

static _Unwind_Reason_Code look_for_handler(struct _Unwind_Context *c, void *closure) {
    struct walk *w = closure;
    int before_instruction = 0;
    uintptr_t ip = _Unwind_GetIPInfo(c, &before_instruction);
    /* Only the frame that a signal interrupted is not at a call. */
    w->in_handler = before_instruction != 0;
    return w->in_handler || !ip || w->depth++ > MAX_DEPTH ? _URC_END_OF_STACK : _URC_NO_REASON;
}

bool unwind_in_signal_handler(void) {
    struct walk w = {0};
    _Unwind_Backtrace(look_for_handler, &w);
    return w.in_handler;
}

static _Unwind_Reason_Code look_for_caller(struct _Unwind_Context *c, void *closure) {
    struct walk *w = closure;
    uintptr_t ip = _Unwind_GetIP(c);
    struct object *o = objects_at(ip);
    if (!ip || w->depth++ > MAX_DEPTH)
        return _URC_END_OF_STACK;
    if (o && object_stands_between(o, ip))
        return _URC_NO_REASON;
    w->caller = (const void *)ip;
    return _URC_END_OF_STACK;
}

const void *unwind_caller_outside_sanitizer(void) {
    struct walk w = {0};
    _Unwind_Backtrace(look_for_caller, &w);
    return w.caller;
}

/* At each step GetIP is a frame's code and GetCFA the stack pointer it had at its call, which is
 * where its callee's frame ended. So the owner is the last frame whose own end, seen one step
 * later, lies above. */
static _Unwind_Reason_Code look_for_owner(struct _Unwind_Context *c, void *closure) {
    struct walk *w = closure;
    uintptr_t end_of_callee = _Unwind_GetCFA(c);
    const void *code = (const void *)_Unwind_GetIP(c);
    if (w->depth++ && end_of_callee > w->address && end_of_callee <= w->high) {
        *w->owner = (struct frame_owner){.code = w->previous_code,
                                         .return_slot = (void **)(end_of_callee - sizeof(void *)),
                                         .sp_after = end_of_callee,
                                         .returns_to = code};
        w->found = true;
        return _URC_END_OF_STACK;
    }
    w->previous_code = code;
    return w->depth > MAX_DEPTH ? _URC_END_OF_STACK : _URC_NO_REASON;
}

bool unwind_find_owner(uintptr_t address, struct frame_owner *owner) {
    struct walk w = {.address = address, .owner = owner};
    uintptr_t low;
    thread_stack(&low, &w.high);
    _Unwind_Backtrace(look_for_owner, &w);
    return w.found;
}
