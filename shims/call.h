/* call:MODULE!FUNCTION: ways 2, by relocation slots. */
#ifndef HOLDPOINT_CALL_H
#define HOLDPOINT_CALL_H
#include "objects.h"
/* Patches the slots of one object, relocated already or not. Under the loader's lock. */
void call_patch_object(struct object *o);
/* Reserves memory for stubs; before the first call_patch_object. */
void call_start(void);
#endif
