// What the generated code needs of the library.
#ifndef TEARDOWN_TYPES_H
#define TEARDOWN_TYPES_H

#include <mp/type-context.h>
#include <mp/type-decay.h>
#include <mp/type-interface.h>
#include <mp/type-number.h>
#include <mp/type-threadmap.h>
#include <teardown.capnp.proxy-types.h>

struct TeardownInterface;

#endif
