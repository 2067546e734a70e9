/* Progress on stderr. Runs in the runner. */
#include "progress.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "board/steps.h"

#define SECOND 1000000000ull

static struct {
    bool active, on_terminal, drawn;
    char title[128], text[256];
    double fraction; /* negative: unknown */
    uint64_t begun_ns, shown_ns;
} now;

void progress_begin(const char *text) {
    memset(&now, 0, sizeof now);
    now.active = true;
    now.on_terminal = isatty(STDERR_FILENO);
    now.fraction = -1;
    now.begun_ns = now.shown_ns = steps_now();
    snprintf(now.title, sizeof now.title, "%s", text);
}

static int terminal_width(void) {
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col : 80;
}

static void show(uint64_t ns) {
    enum { WIDTH = 20 };
    char bar[WIDTH + 3] = "", line[512];
    double seconds = (double)(ns - now.begun_ns) / 1e9;
    if (now.fraction >= 0) {
        int full = (int)(now.fraction * WIDTH + 0.5);
        for (int i = 0; i < WIDTH; i++)
            bar[i + 1] = i < full ? '#' : '.';
        bar[0] = '[';
        bar[WIDTH + 1] = ']';
    } else if (now.on_terminal) {
        bar[0] = "-\\|/"[(ns / (SECOND / 5)) % 4];
    }
    snprintf(line, sizeof line, "%s%s%s %.0f s%s%s", bar, *bar ? " " : "", now.title, seconds,
             *now.text ? ": " : "", now.text);
    if (now.on_terminal)
        fprintf(stderr, "\r%.*s\033[K", terminal_width() - 1, line);
    else
        fprintf(stderr, "holdpoint: %s\n", line);
    fflush(stderr);
    now.drawn = true;
    now.shown_ns = ns;
}

void progress_update(double fraction, const char *text) {
    if (!now.active)
        return;
    if (fraction >= 0)
        now.fraction = fraction > 1 ? 1 : fraction;
    if (text)
        snprintf(now.text, sizeof now.text, "%s", text);
    uint64_t ns = steps_now();
    if (ns - now.begun_ns >= SECOND &&
        ns - now.shown_ns >= (now.on_terminal ? SECOND / 5 : 10 * SECOND))
        show(ns);
}

void progress_end(void) {
    if (now.active && now.drawn && now.on_terminal)
        fputs("\r\033[K", stderr);
    now.active = false;
}
