"""summary.md: the table of verdicts and, for each surprise, why; short enough for a CI system's step summary."""
import report_rows as rows

MARKS = {rows.AS_EXPECTED: "✅", rows.NOT_AS_EXPECTED: "❌", rows.CANNOT_TELL: "⚠️", rows.SKIPPED: "⏭️"}


def cell(text):
    """Text of others in a table cell: no pipe, line or tag of it may take part in the page."""
    text = " ".join(str(text if text is not None else "").split())
    for sign, instead in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("|", "\\|"), ("`", "'"), ("*", "\\*"), ("_", "\\_")):
        text = text.replace(sign, instead)
    return text


def code(text):
    """Text of others as code, on one line."""
    return "`" + " ".join(str(text).replace("`", "'").split()) + "`"


def table(results):
    lines = ["| | scenario | variant | plan | ranks | verdict | trials | expected | signatures |",
             "|---|---|---|---|--:|---|---|---|---|"]
    for row in results.rows:
        verdict = "skipped" if row.state == rows.SKIPPED else row.verdict["verdict"]
        cells = [MARKS[row.state], row.scenario, row.variant, row.plan, row.ranks, verdict, row.counted, row.wanted,
                 ", ".join(row.signatures)]
        lines.append("| " + " | ".join(map(cell, cells)) + " |")
    return lines


def sweep(row):
    """What each element of a sweep came to."""
    lines = ["", f"{cell(row.sweep_told)}", "", "| element | fired | verdict | reason |", "|---|---|---|---|"]
    for element in row.verdict["sweep"]["elements"]:
        verdict = element["verdict"] if element["fired"] or element["verdict"] != "not-exercised" else ""
        cells = [element["name"], "yes" if element["fired"] else "not fired", verdict, element["reason"]]
        lines.append("| " + " | ".join(map(cell, cells)) + " |")
    return lines


def markdown(results):
    told = ", ".join(f"{results.count(state)} {state}" for state in rows.STATES if results.count(state)) or "nothing ran"
    machine = results.json["machine"]
    lines = ["# holdpoint", "", f"{told}. {cell(machine['distribution'])}, {cell(machine['kernel'])}, {machine['cpus']} CPUs,"
             f" {results.json['started']}, holdpoint {cell(results.json['holdpoint'])}.", ""]
    lines += table(results) if results.rows else []
    for row in results.rows:
        if row.state == rows.AS_EXPECTED and not row.verdict["sweep"] and not row.gate_told:
            continue
        told = f"{row.state}: {cell(row.reason)}" if row.reason else row.state
        lines += ["", f"## {cell(row.scenario)}: {cell(row.name)}", "", told]
        lines += ["", cell(row.gate_told)] if row.gate_told else []
        lines += sweep(row) if row.verdict["sweep"] else []
        lines += ["", f"Again: {code(row.again)}"] if row.again else []
    return "\n".join(lines) + "\n"
