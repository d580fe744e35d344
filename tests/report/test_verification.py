"""What a verification found, as people read it."""

from artifactctl.domain.artifacts import VerifyLevel
from artifactctl.domain.verification import VerifyResult
from artifactctl.report.verification import verify_document


def result(name: str, host: str = "gpu1", *, ok: bool = True) -> VerifyResult:
    problems = () if ok else ("shard-0 is gone",)
    path = b"/data/" + name.encode()
    return VerifyResult(name=name, host=host, path=path, ok=ok, level=VerifyLevel.HEADERS, problems=problems)


def test_of_several_copies_each_says_where_it_lies() -> None:
    shown = verify_document([result("hs"), result("hs", "gpu2", ok=False), result("map")])

    assert shown == [
        "✓ hs at gpu1:/data/hs: verified at level headers",
        "✗ hs at gpu2:/data/hs: not verified at level headers",
        "    shard-0 is gone",
        "✓ map: verified at level headers",
    ]
