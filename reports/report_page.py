"""index.html: one self-contained page, no scripts, nothing fetched. The template draws, this file arranges."""
from pathlib import Path

import jinja2

import report_rows as rows
from report_picture import picture

STATE_CLASSES = {rows.AS_EXPECTED: "ok", rows.NOT_AS_EXPECTED: "bad", rows.CANNOT_TELL: "unsure", rows.SKIPPED: "skip"}


def environment():
    env = jinja2.Environment(loader=jinja2.FileSystemLoader(Path(__file__).resolve().parent / "templates"), autoescape=True,
                             trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined)
    env.filters["ms"] = rows.milliseconds
    env.filters["frame"] = rows.frame_text
    env.filters["party"] = rows.party
    env.filters["base"] = lambda path: (path or "").rsplit("/", 1)[-1]
    env.globals["picture"] = picture
    return env


def ranks_summary(trial):
    """Processes that ended alike are one line: 31 quiet ranks must not hide the one that crashed."""
    groups = {}
    for process in trial["ranks"]:
        how = f"signal {process['signal']}" if process["signal"] else (
            f"exit {process['exit']}" if process["exit"] is not None else "end unknown")
        key = (process["program"], how, process["checked_in"], tuple(process["live_detectors"]), process["problem"],
               tuple(sorted(process["bound"].items())), process["follower"])
        groups.setdefault(key, []).append(process)
    return [{"ranks": span(members), "n": len(members), "program": key[0], "how": key[1], "checked_in": key[2],
             "detectors": ", ".join(key[3]), "problem": key[4], "bound": key[5], "follower": key[6]} for key, members in groups.items()]


def span(processes):
    """"0, 2-31" """
    numbers = sorted({process["rank"] for process in processes if process["rank"] is not None})
    parts, start = [], None
    for i, number in enumerate(numbers):
        if start is None:
            start = number
        if i + 1 == len(numbers) or numbers[i + 1] != number + 1:
            parts.append(str(start) if start == number else f"{start}-{number}")
            start = None
    return ", ".join(parts) or "?"


def page(results):
    tiles = [(state, results.count(state), STATE_CLASSES[state]) for state in rows.STATES]
    return environment().get_template("page.html.j2").render(
        results=results.json, rows=results.rows, tiles=tiles, state_classes=STATE_CLASSES, ranks_summary=ranks_summary,
        wall=rows.milliseconds(sum(row.wall_ms for row in results.rows)), n_trials=len(results.json["trials"]))
