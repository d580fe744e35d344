"""What both ends of a wire must agree on before the first frame."""

import re

READY_TEXT = "artifactctl-ready "
READY = re.compile(rb"\n%b(\d+)\.(\d+)\.(\d+)\r?\n" % READY_TEXT.encode("ascii"))
OLDEST_PYTHON = (3, 8)
