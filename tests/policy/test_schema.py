"""The committed JSON Schema is the one of the models, and says the same of files as lint does."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from artifactctl.policy.documents import read_document
from artifactctl.policy.findings import Level
from artifactctl.policy.reading import read_file
from artifactctl.policy.schema import policy_schema, schema_text
from tests.bench.sandbox import CHECKOUT
from tests.policy.written import DESIGN_EXAMPLE

POLICIES = CHECKOUT / "policies"
SHIPPED = sorted(POLICIES.glob("*.yaml"))
BROKEN = sorted((Path(__file__).parent / "broken").glob("*.yaml"))


def plain(content: bytes | str) -> Any:
    """Return the data of a file as JSON would hold it."""
    return json.loads(json.dumps(read_document("p.yaml", content).data))


def validator() -> jsonschema.Draft202012Validator:
    """Return a validator for the committed schema."""
    schema = json.loads((POLICIES / "policy.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def test_the_committed_schema_is_current() -> None:
    assert (POLICIES / "policy.schema.json").read_text(encoding="utf-8") == schema_text() + "\n"


def test_no_optional_key_may_be_null() -> None:
    assert '"null"' not in json.dumps(policy_schema())


@pytest.mark.parametrize("file", SHIPPED, ids=[file.stem for file in SHIPPED])
def test_the_schema_accepts_the_shipped_files(file: Path) -> None:
    validator().validate(plain(file.read_bytes()))


def test_the_schema_accepts_the_example_of_the_design() -> None:
    validator().validate(plain(DESIGN_EXAMPLE))


def _refused_by_the_models() -> list[Path]:
    """Return the broken files that are YAML as it should be, and yet no policy."""
    files = []
    for file in BROKEN:
        read = read_file(file.name, file.read_bytes())
        if read.document.data is not None and not read.document.findings and read.written is None:
            files.append(file)
    return files


@pytest.mark.parametrize("file", _refused_by_the_models(), ids=lambda file: file.stem)
def test_the_schema_refuses_what_lint_refuses(file: Path) -> None:
    assert not validator().is_valid(plain(file.read_bytes()))


def test_many_broken_files_are_for_the_schema_to_refuse() -> None:
    assert len(_refused_by_the_models()) >= 20
    assert Level.ERROR in {item.level for item in read_file("p", _refused_by_the_models()[0].read_bytes()).findings}
