/* The version of holdpoint, in one place. */
#ifndef HOLDPOINT_VERSION_H
#define HOLDPOINT_VERSION_H
#define HOLDPOINT_VERSION "0.1.0"
#endif
