"""The table of verdicts for a terminal: plain text, coloured only where a terminal reads it."""
import shutil

import report_rows as rows

COLOURS = {rows.AS_EXPECTED: "32", rows.NOT_AS_EXPECTED: "31", rows.CANNOT_TELL: "33", rows.SKIPPED: "36"}
WORDS = {rows.AS_EXPECTED: "ok", rows.NOT_AS_EXPECTED: "NOT", rows.CANNOT_TELL: "?", rows.SKIPPED: "skip"}
HEAD = ["", "scenario", "variant", "plan", "ranks", "verdict", "trials", "expected", "signatures"]


def plain(text):
    """Text of others must not steer the terminal."""
    return "".join(sign if sign.isprintable() else "?" for sign in str(text if text is not None else ""))


def cells(row):
    verdict = "skipped" if row.state == rows.SKIPPED else row.verdict["verdict"]
    return list(map(plain, [WORDS[row.state], row.scenario, row.variant, row.plan, row.ranks, verdict, row.counted, row.wanted,
                            " ".join(row.signatures)]))


def table(results, colour=False, width=None):
    """Lines are cut to the width; what gates came to and the reasons of surprises follow in full."""
    width = width or shutil.get_terminal_size((120, 24)).columns
    body = [cells(row) for row in results.rows]
    widths = [max(len(line[i]) for line in [HEAD, *body]) for i in range(len(HEAD))]
    lines = []
    for line, row in zip([HEAD, *body], [None, *results.rows]):
        text = "  ".join(part.ljust(size) for part, size in zip(line, widths)).rstrip()
        text = text if len(text) <= width else text[:width - 1] + "…"
        lines.append(f"\033[{COLOURS[row.state]}m{text}\033[0m" if colour and row else text)
    for row in results.rows:
        if row.gate_told:
            lines.append(plain(f"{row.scenario}: {row.name}: {row.gate_told}"))
        if row.state != rows.AS_EXPECTED:
            lines.append(plain(f"{row.scenario}: {row.name}: {row.state}: {row.reason}"))
    told = ", ".join(f"{results.count(state)} {state}" for state in rows.STATES if results.count(state))
    lines.append(told or "nothing ran")
    return "\n".join(lines)
