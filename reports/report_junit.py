"""junit.xml (xunit2): failure = verdict not as expected, error = could not tell, skipped = a missing part, named."""
import re
import xml.etree.ElementTree as ET

import report_rows as rows

# XML 1.0 has no way to write these characters.
FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
MOST_TEXT = 20000


def clean(text):
    text = FORBIDDEN.sub("?", str(text))
    return text if len(text) <= MOST_TEXT else text[:MOST_TEXT] + "\n[cut]"


def trial_text(trial):
    """What a reader of a CI log needs: how far the plan came, and what was found."""
    lines = [f"{trial['id']}: {trial['verdict']}: {trial['reason']}"]
    for step in trial["steps"]:
        lines.append(f"  {step['state']:8} {step['text']}  {rows.party(step)} {step['detail']}".rstrip())
    for fault in trial["faults"]:
        lines.append(f"  fired {fault['fired']}  {fault['text']}  {rows.party(fault)}".rstrip())
    for finding in trial["findings"]:
        lines.append(f"  found {finding['signature']}")
        lines += [f"    {line}" for line in (finding["text"] or "").splitlines()[:20]]
        for stack in finding["stacks"]:
            lines.append(f"    {stack['role']}:")
            lines += [f"      {rows.frame_text(frame)} {frame['source'] or ''}".rstrip() for frame in stack["frames"]]
    lines += [f"  error: {sentence}" for sentence in trial["errors"]]
    lines += [f"  missing: {sentence}" for sentence in trial["missing"]]
    lines.append(f"  again: {trial['again']}")
    return "\n".join(lines)


def case(row):
    element = ET.Element("testcase", classname=clean(f"{row.scenario}.{row.variant}"), name=clean(row.name),
                         time=f"{row.wall_ms / 1000:.3f}")
    properties = ET.SubElement(element, "properties")
    for name, value in (("verdict", row.verdict["verdict"]), ("expected", row.wanted), ("signatures", " ".join(row.signatures)),
                        ("trials", row.trials_told), ("seeds", " ".join(map(str, row.seeds))), ("plan_hash", row.plan_hash or ""),
                        ("again", row.again or "")):
        ET.SubElement(properties, "property", name=name, value=clean(value))
    told = f"expected {row.wanted}, got {row.verdict['verdict']} in {row.counted} trials: {row.reason}"
    if row.state == rows.SKIPPED:
        ET.SubElement(element, "skipped", message=clean(row.reason))
    elif row.state == rows.CANNOT_TELL:
        ET.SubElement(element, "error", type=clean(row.verdict["verdict"]), message=clean(told)).text = clean(row.reason)
    elif row.state == rows.NOT_AS_EXPECTED:
        ET.SubElement(element, "failure", type=clean(row.verdict["verdict"]), message=clean(told)).text = clean(
            "\n".join(row.signatures) or row.reason)
    ET.SubElement(element, "system-out").text = clean("\n\n".join(map(trial_text, row.trials)))
    return element


def junit(results):
    """The whole file as bytes: one suite a scenario."""
    root = ET.Element("testsuites", name="holdpoint")
    suites = {}
    for row in results.rows:
        suites.setdefault(str(row.scenario), []).append(row)
    for scenario, members in suites.items():
        count = {state: sum(row.state == state for row in members) for state in rows.STATES}
        suite = ET.SubElement(root, "testsuite", name=clean(scenario), tests=str(len(members)),
                              failures=str(count[rows.NOT_AS_EXPECTED]), errors=str(count[rows.CANNOT_TELL]),
                              skipped=str(count[rows.SKIPPED]), time=f"{sum(row.wall_ms for row in members) / 1000:.3f}",
                              timestamp=results.json["started"].rstrip("Z"))
        suite.extend(case(row) for row in members)
    ET.indent(root)
    return ET.tostring(root, encoding="utf-8", xml_declaration=True)
