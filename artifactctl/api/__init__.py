"""What a program that makes artifacts may ask of this machine: room, leases, registration, runs.

`extract` and `train` import this package and `artifactctl.domain` and nothing else of artifactctl. Importing it is
cheap: database and machine are loaded when a session is opened. What goes in and comes out are frozen values of the
domain; what is refused raises an error of `artifactctl.domain.errors` that says what to do.

An extraction in whole (`folder` lies below a managed root, `deadline` is an aware instant):

    >>> from artifactctl.api import open_session
    >>> from artifactctl.domain.artifacts import ArtifactKind
    >>> with open_session() as session:
    ...     room = session.reserve(folder, reserved_bytes=2**20, purpose="extraction", until=deadline)
    ...     with session.lease(["corpus"], until=deadline) as held:
    ...         run = session.start_run("extraction", inputs=["corpus"], command="extract run --corpus corpus")
    ...         states = session.register(
    ...             folder,
    ...             kind=ArtifactKind.HIDDEN_STATES,
    ...             name="hidden-states",
    ...             inputs=["corpus"],
    ...             run=run,
    ...             building=True,
    ...         )
    ...         for shard in (b"first", b"second"):
    ...             held.check()  # the corpus is still promised to us
    ...             write_shard(folder, shard)
    ...             session.fill(room, filled_bytes=len(shard))
    ...         states = session.seal(states, tokens=87_800_000)
    ...         run = session.finish_run(run, cost_gpu_hours=152.0)
    ...     session.release(room)
    >>> states.is_live, states.sealed, states.tokens, run.state.value
    (True, True, 87800000, 'succeeded')

Until it is sealed the artifact is `building`, so that nothing removes it, or what it is made from, and nothing takes it
for complete. A program that dies leaves a lease for at most a quarter of an hour, a reservation until its `until`.
"""

from artifactctl.api.leases import HeldLease
from artifactctl.api.session import Session, open_session

__all__ = ["HeldLease", "Session", "open_session"]
