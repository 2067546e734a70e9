/* Texts for results.json; see json_text.h. */
#include "json_text.h"

#include <stdlib.h>

#include "allocate.h"

json_t *json_text(const char *text) {
    if (!text)
        return json_null();
    json_t *made = json_string(text);
    if (made)
        return made;
    AUTO_TEXT plain = copy_text(text);
    for (char *s = plain; *s; s++)
        if ((unsigned char)*s >= 0x80)
            *s = '?';
    return json_string(plain);
}

json_t *json_text_part(const char *text, size_t most) {
    AUTO_TEXT part = copy_part(text, most);
    return json_text(part);
}

json_t *json_hex(unsigned long long number) {
    AUTO_TEXT text = format_text("0x%016llx", number);
    return json_string(text);
}
