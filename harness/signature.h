/* The stable identity of a finding: its kind and the normalised frames, equal in every run whatever
 * the addresses, the compiler's clones and the template arguments. Pure functions.
 */
#ifndef HOLDPOINT_SIGNATURE_H
#define HOLDPOINT_SIGNATURE_H

#include "collect.h"

/* A function's name without arguments, template arguments, clone suffixes, versions and offsets.
 * The caller's to free. */
char *signature_function(const char *name);

/* "heap-use-after-free:use=app!reader<main;free=app!owner<thread;alloc=app!main". At most three
 * frames a role, innermost first; frames of sanitizers, of the shim and of libc's and C++'s own run
 * time are left out. A frame without a symbol is "app+?". The caller's to free. */
char *signature_of(const struct finding *f);

/* The known signature that the finding matches, or NULL. */
const struct known *signature_known(const struct known_list *k, const struct finding *f);

/* How a signature is made, in a sentence, for results.json. */
extern const char signature_note[];

#endif
