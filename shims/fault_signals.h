/* Who gets SIGSEGV and SIGBUS. A detector that closes pages looks at every fault first; what is not
 * its own goes where it would have gone without us: to the program's handler, with the same
 * siginfo, context, mask and flags, or to the default action at the same instruction. The program
 * sets and asks for its handlers and masks as ever, and is shown its own.
 *
 * Outside the program's own fault handlers neither signal is ever blocked in the kernel, since a
 * fault of a blocked signal ends the process (so a program that is executed starts with neither).
 * Seen past the C library (a system call of the program's own, sigset) nothing of this holds;
 * fault_signals_check finds that out. */
#ifndef HOLDPOINT_FAULT_SIGNALS_H
#define HOLDPOINT_FAULT_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

/* A detector's look at a fault of the processor's making. True: it was the detector's and is dealt
 * with, the instruction runs again. On the faulting thread, on its alternate stack when it has one:
 * async-signal-safe, and with little stack. */
typedef bool fault_taker(const siginfo_t *info, const ucontext_t *context);

/* In the constructor, or in a fork child. False: the kernel refuses, or there are too many. */
bool fault_signals_take(fault_taker *taker);

/* Which of the two this thread blocks, for a thread that it is about to create; and in that one. */
uint32_t fault_signals_blocked(void);
void fault_signals_inherit(uint32_t blocked);

/* At the end of the process: complains when the handler is not ours any more. */
void fault_signals_check(void);

#endif
