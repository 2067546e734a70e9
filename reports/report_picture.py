"""The interleaving of a trial as a drawing: one lane a thread, one column a moment, held intervals as bars.

Columns are in order of time and equally wide: moments are microseconds apart or seconds, and the order is what
a plan forces. Computes places only; templates/page.html.j2 draws them.
"""
from dataclasses import dataclass, field

import report_rows as rows

LANE, LEFT, TOP = 66, 18, 40
NARROWEST, WIDEST, ROOM = 132, 190, 1140  # of a column; what a wide page has for all of them
MOST_LANES, MOST_LETTERS = 10, 22
NEAR_MS = 1.0


@dataclass
class Picture:
    column: int = NARROWEST
    width: int = 0
    height: int = 0
    lanes: list = field(default_factory=list)
    columns: list = field(default_factory=list)
    bars: list = field(default_factory=list)
    marks: list = field(default_factory=list)
    left_out: int = 0


def lane_key(entry):
    return (entry["rank"] if entry["rank"] is not None else -1, entry["pid"] or 0, entry["tid"] or 0)


def moments_of(trial):
    """(time, order, kind, entry, number) of everything that has a time and a thread, and what never came to be."""
    moments, never = [], []
    for number, step in enumerate(trial["steps"], 1):
        if step["at_ms"] is None:
            never.append((None, number, "never", step, number))
        else:
            moments.append((step["at_ms"], number, step["kind"], step, number))
    for fault in trial["faults"]:
        if fault["at_ms"] is not None and fault["tid"] is not None:
            moments.append((fault["at_ms"], 0, "fault", fault, None))
    for found in trial["findings"]:
        if found["at_ms"] is not None and found["tid"] is not None:
            moments.append((found["at_ms"], len(trial["steps"]) + 1, "found", found, None))
    for hold in trial["holds"]:
        begun_by = [m for m in moments if m[3].get("point") == hold["point"] and m[2] in ("reach", "pass")
                    and lane_key(m[3]) == lane_key(hold) and abs(m[0] - hold["from_ms"]) < NEAR_MS]
        if not begun_by and hold["from_ms"] is not None:
            moments.append((hold["from_ms"], -1, "stands", hold, None))
    moments.sort(key=lambda m: m[:2])
    return moments, never


def column_of(moments, time, hold, kinds):
    """The moment of this hold's thread and point nearest to the time, or the last one before it."""
    own = [i for i, m in enumerate(moments) if m[2] in kinds and m[3].get("point") == hold["point"] and lane_key(m[3]) == lane_key(hold)
           and abs(m[0] - time) < NEAR_MS]
    if own:
        return own[0] if "reach" in kinds else own[-1]
    return max((i for i, m in enumerate(moments) if m[0] <= time), default=0)


def bar(hold, moments, y, column):
    start = column_of(moments, hold["from_ms"], hold, ("reach", "stands", "pass"))
    stop, lasted = len(moments), "until the end"
    if hold["to_ms"] is not None and hold["ended"] == "pass":
        stop = column_of(moments, hold["to_ms"], hold, ("pass",))
    if hold["to_ms"] is not None:
        lasted = f"for {rows.milliseconds(hold['to_ms'] - hold['from_ms'])}"
    return {"x": LEFT + start * column, "y": y, "width": max((stop - start) * column, 12), "point": hold["point"], "ended": hold["ended"],
            "title": f"held at {hold['point']} {lasted}, ended by {hold['ended']}"}


def fault_holds(trial):
    """Faults that held a thread, as holds: they begin at the fault and end at the event of its end."""
    ends = {}
    for event in trial["timeline"]:
        if event["event"] == "fault-end":
            ends.setdefault(event.get("fault"), event["at_ms"])
    for fault in trial["faults"]:
        if fault["at_ms"] is not None and fault["tid"] is not None and fault["text"].startswith("hold "):
            ended = "pass" if fault["released"] and not fault["timed_out"] else "released" if fault["timed_out"] else "never"
            yield {**fault, "from_ms": fault["at_ms"], "to_ms": ends.get(fault["text"]), "ended": ended}


def fault_bar(hold, moments, y, column):
    start = next(i for i, m in enumerate(moments) if m[2] == "fault" and m[3]["text"] == hold["text"])
    stop = len(moments)
    if hold["to_ms"] is not None:
        stop = max(start, max(i for i, m in enumerate(moments) if m[0] <= hold["to_ms"]))
    return {"x": LEFT + start * column, "y": y, "width": max((stop - start) * column, 12), "point": hold["point"], "ended": hold["ended"],
            "title": hold["text"]}


def picture(trial):
    """None when no thread took part in the plan."""
    moments, never = moments_of(trial)
    keys = sorted({lane_key(m[3]) for m in moments})
    if not keys:
        return None
    column = min(WIDEST, max(NARROWEST, ROOM // (len(moments) + len(never))))
    drawn = Picture(column=column, left_out=max(0, len(keys) - MOST_LANES))
    keys = keys[:MOST_LANES]
    y_of = {key: TOP + 18 + i * LANE for i, key in enumerate(keys)}
    drawn.lanes = [{"y": y_of[key], "label": rows.party({"rank": key[0] if key[0] >= 0 else None, "tid": key[2]})} for key in keys]
    for i, (time, _, kind, entry, number) in enumerate(moments):
        x = LEFT + i * column
        drawn.columns.append({"x": x, "text": rows.milliseconds(time)})
        if lane_key(entry) in y_of:
            label = f"stands at {entry['point']}" if kind == "stands" else entry["kind"] if kind == "found" else entry["text"]
            drawn.marks.append({"x": x, "y": y_of[lane_key(entry)], "kind": kind, "number": number or "", "text": label,
                                "short": label if len(label) <= MOST_LETTERS else label[:MOST_LETTERS - 1] + "…"})
    for i, (_, _, kind, step, number) in enumerate(never):
        x = LEFT + (len(moments) + i) * column
        drawn.columns.append({"x": x, "text": step["state"]})
        drawn.marks.append({"x": x, "y": TOP + 18, "kind": kind, "number": number, "text": step["text"],
                            "short": step["text"][:MOST_LETTERS]})
    drawn.width = LEFT + (len(moments) + len(never)) * column + 16
    drawn.height = TOP + len(keys) * LANE + 6
    drawn.bars = [bar(hold, moments, y_of[lane_key(hold)], column) for hold in trial["holds"]
                  if lane_key(hold) in y_of and hold["from_ms"] is not None]
    drawn.bars += [fault_bar(hold, moments, y_of[lane_key(hold)], column) for hold in fault_holds(trial) if lane_key(hold) in y_of]
    return drawn
