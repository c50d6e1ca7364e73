"""Findings as a build's machinery reads them: JUnit's XML, and GitHub's annotations. Pure."""

from collections.abc import Sequence
from xml.etree import ElementTree

from turngap.budget.gate.demands import Finding


def junit(findings: Sequence[Finding], *, name: str) -> str:
    """One test suite, a test case for each demand."""
    failed = sum(not finding.met for finding in findings)
    suite = ElementTree.Element("testsuite", name="turngap check", tests=str(len(findings)), failures=str(failed))
    for finding in findings:
        case = ElementTree.SubElement(suite, "testcase", classname=f"turngap.{_printable(name)}", name=finding.demand)
        if not finding.met:
            failure = ElementTree.SubElement(case, "failure", message=_printable(finding.says))
            failure.text = _printable(f"{finding.demand}: {finding.says}")
        said = ElementTree.SubElement(case, "system-out")
        said.text = _printable(finding.says if finding.doubt is None else f"{finding.says}\n{finding.doubt}")
    root = ElementTree.Element("testsuites")
    root.append(suite)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def annotations(findings: Sequence[Finding]) -> list[str]:
    """A line for each demand that is not met, or not beyond doubt."""
    lines = []
    for finding in findings:
        if not finding.met:
            lines.append(f"::error title=turngap::{_escaped(f'{finding.demand}: {finding.says}')}")
        elif finding.doubt is not None:
            lines.append(f"::warning title=turngap::{_escaped(f'{finding.demand}: {finding.doubt}')}")
    return lines


def _escaped(text: str) -> str:
    """GitHub's own escapes: the percent sign first, or it would escape the others."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _printable(text: str) -> str:
    """XML has no way to say most control characters."""
    return "".join(letter if letter in "\t\n" or letter >= " " else "?" for letter in text)
