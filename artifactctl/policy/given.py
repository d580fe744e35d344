"""The made-up artifacts of a test as facts."""

from collections.abc import Mapping

from artifactctl.policy.facts import CatalogueView, ChildFacts, Facts
from artifactctl.policy.fixtures import GivenArtifact, GivenChild, TestEntry

TAGS_LABEL = "tags"


def view_of(test: TestEntry) -> CatalogueView:
    """Return what the test gives as a whole catalogue; artifact ids are `ids_of`."""
    ids = ids_of(test)
    return CatalogueView(artifacts=tuple(_facts(given, ids[given.id], test) for given in test.given), taken_at=test.now)


def ids_of(test: TestEntry) -> Mapping[str, int]:
    """Return the artifact id of each given artifact, by what the test calls it."""
    return {given.id: number for number, given in enumerate(test.given, start=1)}


def _facts(given: GivenArtifact, artifact_id: int, test: TestEntry) -> Facts:
    return Facts(
        artifact_id=artifact_id,
        name=given.name or given.id,
        kind=given.kind,
        created_at=test.now - given.age,
        path=given.path,
        root=given.root,
        allocated_bytes=given.size,
        copies=given.copies,
        verified_copies=given.copies if given.verified_copies is None else given.verified_copies,
        live=given.live,
        complete=given.complete,
        held=given.pinned,
        leased=given.leased,
        run=given.run,
        run_state=given.producer_state,
        input_of_unfinished_run=given.input_of_unfinished_run,
        superseded=given.superseded or given.successor_verified,
        successor="successor" if given.superseded or given.successor_verified else "",
        successor_kind=(given.successor_kind or given.kind) if given.superseded or given.successor_verified else None,
        successor_verified=given.successor_verified,
        rebuildable=given.rebuildable,
        step=given.step,
        labels=_labels(given),
        metrics=tuple(sorted(given.metrics.items())),
        children=tuple(_child(child) for child in given.children),
    )


def _labels(given: GivenArtifact) -> tuple[tuple[str, str], ...]:
    tags = ((TAGS_LABEL, ",".join(given.tags)),) if given.tags else ()
    return (*sorted(given.labels.items()), *tags)


def _child(child: GivenChild) -> ChildFacts:
    return ChildFacts(
        name=child.name, kind=child.kind, role=child.relation, living=child.living, verified=child.verified
    )
