"""A browser shows the page as it was meant: our style applies, no name becomes an element, nothing is refused."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from artifactctl.report.page import page
from tests.bench.words import words
from tests.report.a_stock_report import a_report

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
OPTIONS = words(
    """
    --headless --no-sandbox --disable-gpu --disable-background-networking --disable-component-update --no-first-run
    --enable-logging=stderr --virtual-time-budget=2000 --dump-dom
    """
)

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed (apt-get install chromium)")


def opened(text: str, folder: Path) -> tuple[str, list[str]]:
    """Return the document as the browser has it, and what its console said."""
    file = folder / "page.html"
    file.write_text(text, encoding="utf-8")
    done = subprocess.run(
        [str(CHROMIUM), *sorted(OPTIONS), f"--user-data-dir={folder / 'profile'}", file.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
        stdin=subprocess.DEVNULL,
    )
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


def test_a_hostile_name_stays_text_and_nothing_is_refused(tmp_path):
    document, console = opened(page(a_report()), tmp_path)

    assert console == []
    assert re.findall(r"<(?:script|img)", document) == []
    assert document.count('&lt;/script&gt;&lt;img src="x" onerror="alert(1)"&gt;') >= 10
    assert document.count("<svg") >= 5


@pytest.mark.parametrize(
    "foreign",
    ["<style>p { color: red }</style>", "<script>document.title = 'mine'</script>", '<img src="x.png">'],
    ids=["style", "script", "image"],
)
def test_whatever_is_not_ours_is_refused(tmp_path, foreign):
    document, console = opened(page(a_report()).replace("</body>", f"{foreign}</body>"), tmp_path)

    assert any("Content Security Policy" in line for line in console)
    assert "<title>mine" not in document
