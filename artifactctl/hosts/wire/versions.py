"""What both ends of a wire must agree on before the first frame."""

READY_TEXT = "artifactctl-ready "
READY = b"\n" + READY_TEXT.encode("ascii")
OLDEST_PYTHON = (3, 8)
