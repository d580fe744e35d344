"""The engine `sglang` of `extract run`: states from running servers, through their hook or over HTTP."""

import secrets
from collections.abc import Iterator, Sequence
from contextlib import ExitStack

import click

from artifactctl.api.admission import ExtractionRecipe
from artifactctl.api.formats import FinalState
from artifactctl.domain.errors import UsageError
from extract.running.engine import Computed, CorpusRecord, EngineFacts, EngineRequest, Outcome, Unable
from extract.sglang.admitting import Wanted, admit
from extract.sglang.attempts import Received
from extract.sglang.client import ServerClient
from extract.sglang.dispatch import Dispatch
from extract.sglang.server import Server
from extract.sglang.settings import Via
from extract.sglang.target import target_model
from extract.shards.records import token_hash

HTTP_NOTICE = (
    "--via http: states come as JSON, about six times the bytes, and the final state never comes; "
    "--via hook is the way for more than a test"
)

_AT_ONCE = {Via.HOOK: 8, Via.HTTP: 2}
"""Requests at a time and server: over HTTP each holds its states in memory, as JSON."""


class SglangEngine:
    """Asks servers that were admitted."""

    def __init__(self, servers: Sequence[Server], facts: EngineFacts, resources: ExitStack) -> None:
        self._servers = tuple(servers)
        self._facts = facts
        self._resources = resources
        self._name = secrets.token_hex(6)
        self._passes = 0
        self._current: Dispatch | None = None

    @property
    def facts(self) -> EngineFacts:
        """What the servers compute with."""
        return self._facts

    def compute(self, records: Iterator[CorpusRecord]) -> Iterator[Outcome]:
        """Yield what came of each record, in the order in which servers answer."""
        self._passes += 1
        name = f"{self._name}-{self._passes}"
        self._current = Dispatch(self._servers, self._facts.form, name, vocabulary=self._facts.vocabulary)
        for each in self._current.run(records):
            yield each if isinstance(each, Unable) else _computed(each.record, each.received)

    def close(self) -> None:
        """Break off what is under way, should a pass not have ended, and let the spools go."""
        if self._current is not None:
            self._current.break_off()
        self._resources.close()


def open_engine(
    request: EngineRequest, *, at_once: int | None = None, answer_seconds: float = 600, patience_seconds: float = 60
) -> SglangEngine:
    """Return the engine when every server may be used; Refused and UsageError say what to change.

    Servers come one a word, or several with commas between. What HTTP costs is told on standard error.
    `at_once` are requests to one server at a time. `answer_seconds` is how long it may be silent within one,
    `patience_seconds` how long it may be away before its records go to the others for good.
    """
    via = Via(request.via)
    urls = tuple(url.strip() for word in request.servers for url in word.split(","))
    _require_possible(urls, request.final_state, via)
    model = target_model(request.model)
    recipe = ExtractionRecipe(  # refuses what makes no sense
        shape=model.shape, layers=request.layers or model.shape.default_boundaries, final_state=request.final_state
    )
    wanted = Wanted(model=model, layers=recipe.layers, final_state=recipe.final_state, via=via)
    with ExitStack() as resources:
        servers: list[Server] = []
        for url in urls:
            client = ServerClient(url, answer_seconds=answer_seconds, key=request.key)
            server = admit(client, wanted, servers, at_once=at_once or _AT_ONCE[via], patience_seconds=patience_seconds)
            resources.callback(server.close)
            servers.append(server)
        if via is Via.HTTP:
            click.echo(HTTP_NOTICE, err=True)
        return SglangEngine(servers, _facts(wanted, servers[0]), resources.pop_all())


def _facts(wanted: Wanted, server: Server) -> EngineFacts:
    settings, shape = server.settings, wanted.model.shape
    ids = "its default ids" if settings.layer_ids is None else f"the ids {list(settings.layer_ids)}"
    return EngineFacts(
        name="sglang",
        versions={"sglang": settings.version, "weights": settings.weight_version},
        model=shape.name,
        model_revision=wanted.model.revision,
        hidden_size=shape.hidden_size,
        blocks=shape.layers,
        vocabulary=wanted.model.vocabulary,
        layers=wanted.layers,
        final_state=wanted.final_state,
        computed_in=settings.dtype,
        element=server.element,
        convention=f"Hugging Face boundaries; sglang was given {ids}",
    )


def _require_possible(urls: Sequence[str], final_state: FinalState, via: Via) -> None:
    if not urls or len(set(urls)) != len(urls):
        raise UsageError(
            "--engine sglang needs the address of each server once", remedy="--server http://HOST:PORT,..."
        )
    if final_state is FinalState.PRE:
        raise UsageError(
            "a server has its final state after the final norm only", remedy="--final-state post, or --engine hf"
        )
    if via is Via.HTTP and final_state is not FinalState.NONE:
        raise UsageError("--via http has no final state", remedy="--final-state none, or --via hook")


def _computed(record: CorpusRecord, received: Received) -> Computed:
    """Return the outcome; the ids in the spool are what ran. Over HTTP a server says their number only."""
    ran = record.token_ids if received.token_ids is None else received.token_ids
    return Computed(index=record.index, token_hash=token_hash(ran), layers=received.layers, final=received.final)
