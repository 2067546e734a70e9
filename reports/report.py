#!/usr/bin/env python3
"""results.json -> index.html, junit.xml, summary.md beside it, and a table on the terminal.

Reads results.json only. Exit: 0 written, 2 the results cannot be read or a report cannot be written.
"""
import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import report_rows  # noqa: E402  (beside this file, wherever it is started from)


def write(file, content):
    """Whole or not at all: a reader never sees half a report."""
    temporary = file.with_name(file.name + ".tmp")
    temporary.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    temporary.replace(file)


def make(results, out):
    from report_junit import junit
    from report_markdown import markdown
    write(out / "junit.xml", junit(results))
    write(out / "summary.md", markdown(results))
    try:
        from report_page import page
    except ModuleNotFoundError as error:
        print(f"report.py: no index.html: the Python module {error.name} is missing (Debian: python3-jinja2)", file=sys.stderr)
        return False
    write(out / "index.html", page(results))
    return True


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="report.py", description="Makes the reports of a results.json.")
    parser.add_argument("results", nargs="?", default="reports/latest", help="results.json or its folder (default: %(default)s)")
    parser.add_argument("--out", help="folder for the reports (default: beside results.json)")
    parser.add_argument("--quiet", action="store_true", help="no table on the terminal")
    options = parser.parse_args(arguments)
    try:
        results = report_rows.read(options.results)
    except report_rows.ResultsError as error:
        print(f"report.py: {error}", file=sys.stderr)
        return 2
    given = Path(options.results)
    out = Path(options.out) if options.out else (given if given.is_dir() else given.parent)
    try:
        out.mkdir(parents=True, exist_ok=True)
        complete = make(results, out)
    except OSError as error:
        print(f"report.py: {error.filename or out}: {error.strerror}; choose another folder with --out", file=sys.stderr)
        return 2
    if not options.quiet:
        from report_table import table
        print(table(results, colour=sys.stdout.isatty()))
        if complete:
            print(f"report: {out / 'index.html'}")
    return 0 if complete else 2


if __name__ == "__main__":
    sys.exit(main())
