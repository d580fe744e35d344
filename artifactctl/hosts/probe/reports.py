"""What goes wrong, as a value that crosses the wire, and the same again on the other side.

Error numbers go by their names: 39 is ENOTEMPTY on Linux and something else on a Mac.
"""

from __future__ import annotations

import builtins
import errno
import traceback
from typing import Any, Dict, Type

from artifactctl.hosts.probe import failures
from artifactctl.hosts.probe.failures import Fault, ProbeFailure


def reported(error: BaseException) -> Dict[str, Any]:
    """Return an error in wire form; what the probe does not raise by intent is a fault, with its traceback."""
    if isinstance(error, ProbeFailure):
        return {"failure": type(error).__name__, "message": error.message, "remedy": error.remedy}
    if isinstance(error, OSError):
        return {
            "system": type(error).__name__,
            "number": errno.errorcode.get(error.errno or 0, ""),
            "text": error.strerror or str(error),
            "name": error.filename,
        }
    shown = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    return {"fault": f"{type(error).__name__}: {error}", "traceback": shown[-4000:]}


def raised(report: Dict[str, Any]) -> Exception:
    """Return the error that a report tells of, to be raised here."""
    if "failure" in report:
        kind = getattr(failures, report["failure"], ProbeFailure)
        failure: ProbeFailure = kind(report["message"], remedy=report["remedy"])
        return failure
    if "system" in report:
        return _system_error(report)
    fault = Fault(str(report.get("fault", "it gave no reason")))
    fault.__cause__ = RuntimeError(str(report.get("traceback", "")))
    return fault


def _system_error(report: Dict[str, Any]) -> OSError:
    kind: Type[OSError] = getattr(builtins, report["system"], OSError)
    number = getattr(errno, report["number"], None) if report["number"] else None
    if number is None:
        error = kind(report["text"])
        error.strerror, error.filename = report["text"], report["name"]
        return error
    # by the class, since the class that a number stands for differs between systems
    return kind(number, report["text"], report["name"])
