"""Changes to what came from what; the graph stays without cycles."""

from sqlalchemy import insert, select, update

from artifactctl.catalog import artifact_queries, lineage_queries
from artifactctl.catalog.failures import LineageCycle
from artifactctl.catalog.schema_artifacts import artifact, lineage_edge
from artifactctl.catalog.transaction import Transaction
from artifactctl.domain.artifacts import LineageRole


def add_lineage(writing: Transaction, child_id: int, parent_id: int, role: LineageRole) -> None:
    """Record an edge; one that is there already stays as it is."""
    child, parent = (
        artifact_queries.require(writing.connection, child_id),
        artifact_queries.require(writing.connection, parent_id),
    )
    if child_id == parent_id:
        raise LineageCycle(f"{child.name} cannot come from itself", remedy="name two different artifacts")
    if child_id in lineage_queries.ancestors(writing.connection, parent_id):
        raise LineageCycle(
            f"{child.name} cannot come from {parent.name}, which came from {child.name}",
            remedy=f"artifactctl lineage {parent.name} --up",
        )
    edge = {"child_id": child_id, "parent_id": parent_id, "role": role.value}
    known = select(lineage_edge).where(*(lineage_edge.c[column] == value for column, value in edge.items()))
    if writing.connection.execute(known).first() is None:
        writing.connection.execute(
            insert(lineage_edge).values(**edge, recorded_at=writing.now, recorded_by=writing.actor)
        )


def supersede(writing: Transaction, old_id: int, new_id: int) -> None:
    """Record the edge, and on the old artifact which one takes its place now; said again, it holds from now."""
    add_lineage(writing, new_id, old_id, LineageRole.SUPERSEDES)
    edge = (
        lineage_edge.c.child_id == new_id,
        lineage_edge.c.parent_id == old_id,
        lineage_edge.c.role == LineageRole.SUPERSEDES.value,
    )
    writing.connection.execute(update(lineage_edge).where(*edge).values(recorded_at=writing.now))
    writing.connection.execute(update(artifact).where(artifact.c.id == old_id).values(superseded_by_id=new_id))
