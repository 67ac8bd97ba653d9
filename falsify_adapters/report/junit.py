"""A report as JUnit XML, which CI systems show as tests: one test case for each run and measure, or for each check."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from xml.etree import ElementTree as ET

from falsify_adapters.report.advice import next_steps
from falsify_adapters.report.floor_text import checks
from falsify_adapters.report.render import FLOOR, render
from falsify_adapters.report.safe import number, visible


def to_junit(report: Mapping[str, Any]) -> str:
    """FAIL is a failure with the report's explanation, UNDER-NS a skipped test with its reason: it is neither. The exit
    status tells the two apart as well. A benchmark without any check is a skipped test too."""
    report = report.get("gate", report)  # a comparison holds the gate's report
    suites = ET.Element("testsuites", name="falsify-adapters")
    floor = report["schema"].startswith(FLOOR)
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for result in report["results"]:
        groups.setdefault("noise floor" if floor else str(result["run"]), []).append(result)
    for name, results in groups.items():
        cases = [case for result in results for case in (_checks(report, result) if floor else [_gate(report, result)])]
        suite = ET.SubElement(suites, "testsuite", name=visible(name), tests=str(len(cases)))
        for kind, plural in (("failure", "failures"), ("skipped", "skipped")):
            suite.set(plural, str(sum(case.find(kind) is not None for case in cases)))
        suite.set("errors", "0")
        suite.extend(cases)
    for total in ("tests", "failures", "skipped", "errors"):
        suites.set(total, str(sum(int(str(suite.get(total))) for suite in suites)))
    ET.indent(suites)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ET.tostring(suites, encoding="unicode")}\n'


def _gate(report: Mapping[str, Any], result: Mapping[str, Any]) -> ET.Element:
    case = ET.Element("testcase", classname=visible(result["run"]), name=visible(result["measure"]))
    said = " ".join(next_steps(result, report["settings"]))
    if result["verdict"] == "FAIL":
        failure = ET.SubElement(case, "failure", type="FAIL", message=visible(said))
        failure.text = _whole({**report, "results": [result]})
    elif result["verdict"] == "UNDER-NS":
        ET.SubElement(case, "skipped", message=visible(f"UNDER-NS: {said}"))
    gaps = ", ".join(f"{name} {number(null['delta'])}" for name, null in result["nulls"].items())
    out = ET.SubElement(case, "system-out")
    out.text = f"score {number(result['score'])}, floor {number(result['floor'])}, gaps: {gaps}"
    return case


def _checks(report: Mapping[str, Any], result: Mapping[str, Any]) -> Sequence[ET.Element]:
    cases = []
    for name, (_, steps) in checks(result, report["settings"]).items():
        case = ET.Element("testcase", classname=visible(result["measure"]), name=name)
        verdict = result[name]["verdict"]
        if verdict != "pass":
            message = visible(" ".join([f"{name} says {verdict}.", *steps]))
            failure = ET.SubElement(case, "failure", type=verdict, message=message)
            failure.text = _whole({**report, "results": [result]})
        cases.append(case)
    if not cases:
        case = ET.Element("testcase", classname=visible(result["measure"]), name="floor")
        ET.SubElement(case, "skipped", message=f"No check was asked for; the floor is {number(result['expected'])}.")
        cases.append(case)
    return cases


def _whole(report: Mapping[str, Any]) -> str:
    """The text report, which holds no character that XML does not: control characters were made visible."""
    return render(report, width=100, color=False, ascii_only=False, details="all")
