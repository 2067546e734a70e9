"""results.json as the reports see it: rows, each with its state and its trials. Reads one file, decides nothing."""
import json
from dataclasses import dataclass, field
from pathlib import Path

SCHEMA = "holdpoint-results/1"

AS_EXPECTED, NOT_AS_EXPECTED, CANNOT_TELL, SKIPPED = "as expected", "not as expected", "could not tell", "skipped"
STATES = (AS_EXPECTED, NOT_AS_EXPECTED, CANNOT_TELL, SKIPPED)


class ResultsError(Exception):
    """The file cannot be used; the text is for people."""


@dataclass
class Row:
    """One verdict and its trials."""
    verdict: dict
    trials: list = field(default_factory=list)

    def __getattr__(self, name):
        try:
            return self.verdict[name]
        except KeyError:
            raise AttributeError(name) from None

    @property
    def state(self):
        if self.verdict["skipped"]:
            return SKIPPED
        return {0: AS_EXPECTED, 1: NOT_AS_EXPECTED}.get(self.verdict["status"], CANNOT_TELL)

    @property
    def counted(self):
        """"3 of 3", the trials that have the row's verdict; "3 of 7 fired" of a sweep."""
        if self.verdict["sweep"]:
            return f"{self.verdict['of_verdict']} of {self.verdict['sweep']['fired']} fired"
        return f"{self.verdict['of_verdict']} of {self.verdict['trials']}"

    @property
    def trials_told(self):
        """"3 of 3 reproduced, 3 exercised"."""
        return f"{self.counted} {self.verdict['verdict']}, {self.verdict['exercised']} exercised"

    @property
    def sweep_told(self):
        """"7 of 9 points fired, 6 reproduced"; "" of a row that is no sweep."""
        sweep = self.verdict["sweep"]
        if not sweep:
            return ""
        what = "points" if sweep["kind"] == "over" else "runs"
        note = f"; {sweep['note']}" if sweep["note"] else ""
        return (f"{sweep['fired']} of {len(sweep['elements'])} {what} fired,"
                f" {self.verdict['of_verdict']} {self.verdict['verdict']}{note}")

    @property
    def gate_told(self):
        """"gate passed at 0.99: the baseline reproduced 20 of 20, …"; "" of a row that no gate judged."""
        gate = self.verdict["gate"]
        if not gate:
            return ""
        needed = (f", a rate of at least {gate['rate_at_least']:.3g}; trials needed: {gate['trials_needed']}"
                  if gate["trials_needed"] else "")
        return (f"gate {'passed' if gate['passed'] else 'not passed'} at {gate['confidence']:g}: the baseline reproduced"
                f" {gate['baseline_reproduced']} of {gate['baseline_trials']}{needed}")

    @property
    def wanted(self):
        expected = self.verdict["expected"] or "nothing"
        rate = self.verdict["rate"]
        return f"{expected} in {rate:.0%}" if rate and rate < 1 else expected

    @property
    def name(self):
        """What distinguishes the row within its scenario."""
        ranks = f"{self.verdict['ranks']} rank{'' if self.verdict['ranks'] == 1 else 's'}"
        parts = [self.verdict["variant"], self.verdict["plan"], self.verdict["workload"], ranks, self.verdict["launcher"]]
        return ", ".join(part for part in parts if part)

    @property
    def wall_ms(self):
        return sum(trial["wall_ms"] for trial in self.trials)


@dataclass
class Results:
    json: dict
    rows: list

    def count(self, state):
        return sum(row.state == state for row in self.rows)


def read(path):
    """Results of a file, or of the results.json in a folder."""
    path = Path(path)
    file = path / "results.json" if path.is_dir() else path
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ResultsError(f"{file}: {error.strerror}; give the folder that `holdpoint run` named") from error
    except ValueError as error:
        raise ResultsError(f"{file}: no JSON: {error}; run it again, the file is damaged") from error
    if not isinstance(found, dict) or found.get("schema") != SCHEMA:
        said = found.get("schema") if isinstance(found, dict) else None
        raise ResultsError(f"{file}: its schema is {said!r}, not {SCHEMA!r}: written by another version of holdpoint")
    rows = [Row(verdict) for verdict in found["verdicts"]]
    for trial in found["trials"]:
        rows[trial["row"]].trials.append(trial)
    return Results(found, rows)


def party(entry):
    """"rank 3, thread 12" of a step, hold or fault; "" when nobody did it."""
    if entry.get("tid") is None:
        return ""
    rank = f"rank {entry['rank']}, " if entry.get("rank") is not None else ""
    return f"{rank}thread {entry['tid']}"


def milliseconds(value):
    """"0.084 ms", "20.1 ms", "3.4 s"; "" for None."""
    if value is None:
        return ""
    if abs(value) >= 1000:
        return f"{value / 1000:.1f} s"
    return f"{value:.3f} ms" if abs(value) < 1 else f"{value:.1f} ms"


def frame_text(frame):
    """"libx.so!function file.c:12"."""
    module = (frame["module"] or "").rsplit("/", 1)[-1]
    function = frame["function"] or (f"+{int(frame['offset'], 16):#x}" if frame["offset"] else "?")
    return f"{module}{'!' if module else ''}{function}"
