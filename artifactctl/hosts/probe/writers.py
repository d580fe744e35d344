"""Who could be changing the content of a file or tree right now.

Open for writing, or mapped writable and shared (a page dirtied so bears no new time until it is written back, so the
content may change while every time stays). Who only reads does not count: the kernel grants a read lease beside
readers, and refuses it while anybody at all, mapping or descriptor, could write.
"""

from __future__ import annotations

import fcntl

from artifactctl.hosts.probe import leases
from artifactctl.hosts.probe.surveying import Sighted
from artifactctl.hosts.probe.uses import Use
from artifactctl.hosts.probe.using import UseLook


class WriterLook(UseLook):
    """Only uses count through which content can change."""

    def _counts(self, use: Use) -> bool:
        return use.may_write()

    def _probe(self, seen: Sighted) -> str:
        return leases.probe(seen.name, seen.folder, fcntl.F_RDLCK)

    def _asked(self, seen: Sighted, answer: str, *, named: bool) -> None:
        if answer == leases.REFUSED and not named:
            text = "the kernel refused a read lease: somebody has it open or mapped for writing"
            self._hold(Use("kernel_lease", None, text), seen.relative)
