"""Where words go: the answer to stdout, talk to stderr, each plain where nobody looks at it."""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TextIO

from artifactctl.cli.failures import silence_stdout, tell
from artifactctl.report.json_values import dump, dump_value
from artifactctl.report.tables import Document, Table, plain_lines

ASCII_SYMBOLS = {ord("✓"): "+", ord("✗"): "x", ord("→"): "->", ord("…"): "...", ord("·"): "-"}
_TREE_SYMBOLS = {ord("├"): "|", ord("└"): "`", ord("─"): "-", ord("│"): "|"}


class Output:
    """One command's output. `format_name` is what `--format` said; `color` is auto, always or never."""

    def __init__(self, *, format_name: str, color: str, environment: Mapping[str, str]) -> None:
        self.format_name = format_name
        self._color = color
        self._environment = environment

    @property
    def is_json(self) -> bool:
        """Whether the answer is wanted as JSON."""
        return self.format_name == "json"

    def is_rich(self, stream: TextIO) -> bool:
        """Whether colours and drawn tables may go to the stream."""
        if self._color != "auto":
            return self._color == "always"
        plain = self._environment.get("NO_COLOR") or self._environment.get("TERM") == "dumb"
        return stream.isatty() and not plain

    def answer(self, what: str, *, payload: Callable[[], Mapping[str, Any]], text: Callable[[], Document]) -> None:
        """Print the answer in the format that was asked for; only that one is built."""
        if self.is_json:
            self.json(what, payload())
        else:
            self.document(text())

    def json(self, what: str, payload: Mapping[str, Any]) -> None:
        """Print one JSON object whose first field is `"schema": "artifactctl.<what>/1"`."""
        self.data(dump(what, payload))

    def json_lines(self, records: Iterable[Mapping[str, Any]]) -> None:
        """Print one JSON object a line."""
        for record in records:
            self.data(dump_value(record))

    def document(self, document: Document) -> None:
        """Print lines and tables."""
        for block in document:
            if isinstance(block, Table) and block.rows and self.is_rich(sys.stdout):
                from artifactctl.cli.terminal import print_table

                print_table(block, sys.stdout)
            else:
                self.data(block if isinstance(block, str) else "\n".join(plain_lines(block)))

    def data(self, text: str) -> None:
        """Print text that is the answer. A reader that has gone away does not undo or fail the work."""
        try:
            sys.stdout.write(_encodable(text, sys.stdout) + "\n")
            sys.stdout.flush()
        except BrokenPipeError:
            silence_stdout()

    def note(self, text: str) -> None:
        """Say something on stderr."""
        tell(_encodable(text, sys.stderr))

    def hint(self, text: str) -> None:
        """Say what could be typed next."""
        self.note(f"hint: {text}")

    def warning(self, text: str) -> None:
        """Say what is wrong without being in the way."""
        self.note(f"warning: {text}")

    @contextmanager
    def progress(self, total: int | None, unit: str, label: str) -> Iterator[Callable[[int], None]]:
        """Yield `advance(amount)`; `unit` is `bytes` or a plural noun. Silent for work under a second."""
        from artifactctl.cli.progress import Progress

        display = Progress(total=total, unit=unit, label=label, drawn=self.is_rich(sys.stderr))
        try:
            yield display.advance
        finally:
            display.close()


def _encodable(text: str, stream: TextIO) -> str:
    """Return the text with signs the stream's encoding lacks replaced; anything is better than a crash over a name."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        text = text.translate(ASCII_SYMBOLS | _TREE_SYMBOLS) if not encoding.lower().startswith("utf") else text
        text = text.encode(encoding, "backslashreplace").decode(encoding)
    return text
