"""`policy lint`, `policy test`: what is wrong with policy files, and whether they do what they say."""

import re
from typing import TYPE_CHECKING

import click

from artifactctl.cli.options import PATH
from artifactctl.cli.shared_options import Command
from artifactctl.cli.wiring import Wiring, pass_wiring
from artifactctl.domain.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from artifactctl.cli.output import Output
    from artifactctl.policy.findings import Finding

FILES = click.argument("files", metavar="[FILE...]", nargs=-1, type=click.Path())


@click.command("lint", cls=Command, formats=("text", "json", "github", "sarif"))
@FILES
@click.option("--require-tests", is_flag=True, help="A rule or protect without a test is an error, not a warning.")
@click.option("--snapshot", type=PATH, metavar="FILE", help="Ask an exported catalog, as of its export.")
@pass_wiring
def lint(wiring: Wiring, files: tuple[str, ...], snapshot: bytes | None, *, require_tests: bool) -> None:
    """Say what is wrong with policy files, each with its place; exits 3 when there are errors.

    With --catalog or --snapshot the files are also held against what is there: what they match, what groups hold.
    """
    from artifactctl.cli.policy_words import named_or_in_force
    from artifactctl.cli.policy_world import lint_surroundings
    from artifactctl.policy.linting import lint as find
    from artifactctl.policy.reading import read_policy
    from artifactctl.report.policy_lint import errors_among, lint_summary

    read = read_policy(named_or_in_force(wiring, files))
    names = [file.name for file in read.files]
    surroundings = lint_surroundings(wiring, read.policy, named=bool(files), snapshot=snapshot)
    findings = find(read, now=wiring.now(), require_tests=require_tests, surroundings=surroundings)
    _print(wiring.output, findings, names)
    wiring.output.note(lint_summary(findings, names))
    if errors_among(findings):
        raise SystemExit(ExitCode.CHECK_FAILED)


def _print(output: "Output", findings: "Sequence[Finding]", names: "Sequence[str]") -> None:
    from artifactctl.report.json_values import dump_value
    from artifactctl.report.policy_lint import finding_lines, github_lines, lint_payload
    from artifactctl.report.sarif import sarif_log

    if output.format_name == "sarif":
        output.data(dump_value(sarif_log(findings), indent=2))
    elif output.format_name == "github":
        output.document(list(github_lines(findings)))
    else:
        output.answer(
            "policy-lint", payload=lambda: lint_payload(findings, names), text=lambda: finding_lines(findings)
        )


@click.command("test", cls=Command)
@FILES
@click.option("--run", metavar="REGEX", help="Only the tests whose name this finds.")
@pass_wiring
def test(wiring: Wiring, files: tuple[str, ...], run: str | None) -> None:
    """Run the tests inside policy files; exits 3 when one fails."""
    from artifactctl.cli.policy_words import named_or_in_force
    from artifactctl.policy.testing import checked_policy, run_tests
    from artifactctl.report.policy_tests import outcome_lines, outcomes_payload

    only = _pattern(run)
    read, policy = checked_policy(named_or_in_force(wiring, files))
    outcomes = run_tests(read, policy, only=only)
    if not outcomes:
        what = f"no test has a name with `{run}` in it" if run else "there is no test in these policy files"
        raise UsageError(what, remedy="write one under `tests:`; policies/README.md shows how")
    wiring.output.answer(
        "policy-test", payload=lambda: outcomes_payload(outcomes), text=lambda: list(outcome_lines(outcomes))
    )
    if not all(outcome.passed for outcome in outcomes):
        raise SystemExit(ExitCode.CHECK_FAILED)


def _pattern(run: str | None) -> re.Pattern[str] | None:
    try:
        return re.compile(run) if run is not None else None
    except re.error as error:
        raise UsageError(
            f"--run: `{run}` is not a regular expression: {error}", remedy="quote it for the shell"
        ) from error
