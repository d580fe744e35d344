"""What is to be made again, as lines of JSON for the program that makes it."""

from collections.abc import Iterator, Sequence

from artifactctl.domain.verification import VerifyResult
from artifactctl.report.json_values import dump, dump_value, json_path


def redo_lines(results: Sequence[VerifyResult]) -> Iterator[str]:
    """Yield a first line that names the schema, then one of each record or file: artifact, host, record, path, why.

    `record` is null for a file that holds no single record, `path` for a record that has no file; it is relative to
    the artifact.
    """
    yield dump("redo-list", {}, indent=None) + "\n"
    for result in results:
        for each in result.redo or ():
            place = json_path(each.member) if each.member else {"path": None}
            line = {"artifact": result.name, "host": result.host, "record": each.record, **place, "why": each.why}
            yield dump_value(line) + "\n"
