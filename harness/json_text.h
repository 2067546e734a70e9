/* jansson with texts from anywhere: bytes that are no UTF-8 become '?'. Pure functions. */
#ifndef HOLDPOINT_JSON_TEXT_H
#define HOLDPOINT_JSON_TEXT_H

#include <jansson.h>

json_t *json_text(const char *text);                   /* NULL: JSON null */
json_t *json_text_part(const char *text, size_t most); /* a fixed field that may lack its end */
json_t *json_hex(unsigned long long number);           /* "0x…": a JSON number would lose bits */

#endif
