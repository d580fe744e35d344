"""Whether a server may be used for a run: what it says of itself, then what it does with two equal prompts."""

import secrets
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from artifactctl.api.formats import ElementType, FinalState
from artifactctl.domain.errors import Refused
from extract.sglang.attempts import AttemptFailed, require_whole
from extract.sglang.client import ServerClient
from extract.sglang.conventions import captured_boundaries, ids_for
from extract.sglang.server import Server
from extract.sglang.settings import ServerSettings, Via, launch_flags, read_settings
from extract.sglang.target import TargetModel
from extract.shards.form import StatesForm

_PROBE_TOKENS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a run wants from every server."""

    model: TargetModel
    layers: tuple[int, ...]
    final_state: FinalState
    via: Via

    def form(self, element: ElementType) -> StatesForm:
        """Return what a row of states consists of."""
        return StatesForm(
            hidden_size=self.model.shape.hidden_size,
            captured=len(self.layers),
            layers=self.layers,
            final_state=self.final_state,
            element=element,
        )

    def launch_flags(self, architectures: Sequence[str]) -> tuple[str, ...]:
        """Return the words that start a server fit for the run."""
        return launch_flags(
            layers=self.layers,
            final_state=self.final_state is not FinalState.NONE,
            ids=ids_for(self.layers, self.model.shape.layers, architectures),
            via=self.via,
        )


def admit(
    client: ServerClient, wanted: Wanted, others: Sequence[Server], *, at_once: int, patience_seconds: float
) -> Server:
    """Return a server that is fit; Refused says what to change.

    The server holds its spool from here on: whoever got it closes it.
    """
    try:
        info = client.get("/server_info")
        architectures = client.get("/model_info").get("architectures") or []
    except AttemptFailed as failed:
        raise Refused(
            f"the server {client.url} does not say how it was started: {failed.reason}",
            remedy="start it, or correct --server; sglang 0.5.23 or newer answers /server_info",
        ) from failed
    flags = wanted.launch_flags(architectures)
    settings = read_settings(info, url=client.url, via=wanted.via, flags=flags)
    _require_layers(settings, wanted, client.url, architectures, flags)
    _require_model(settings, wanted.model, client.url)
    _require_beside(settings, others, client.url)
    server = Server(
        client=client,
        settings=settings,
        captured=len(wanted.layers),
        at_once=at_once,
        patience_seconds=patience_seconds,
    )
    try:
        server.open_spool()
        server.element = _probed(server, wanted)
        return server
    except BaseException:
        server.close()
        raise


def _require_layers(
    settings: ServerSettings, wanted: Wanted, url: str, architectures: Sequence[str], flags: Sequence[str]
) -> None:
    final = wanted.final_state is not FinalState.NONE
    if settings.hook is not None:
        found, has_final = settings.hook.layers, settings.hook.final_state
    else:
        found, has_final = captured_boundaries(settings.layer_ids, wanted.model.shape.layers, architectures), False
    if (found, has_final) != (wanted.layers, final):
        raise Refused(
            f"the server {url} gives {list(found)} {'with' if has_final else 'without'} the final state, "
            f"this run wants {list(wanted.layers)} {'with' if final else 'without'} it",
            remedy=f"start it again with {shlex.join(flags)}",
        )


def _require_model(settings: ServerSettings, model: TargetModel, url: str) -> None:
    if not model.is_at(settings.model_path):
        raise Refused(
            f"the server {url} has the model {settings.model_path or 'it does not name'}, "
            f"this run is about {model.folder}",
            remedy="give the --model that the server has, or the --server that has this model",
        )


def _require_beside(settings: ServerSettings, others: Sequence[Server], url: str) -> None:
    for other in others:
        if not settings.is_same_model_as(other.settings):
            raise Refused(
                f"the servers {other.url} and {url} differ in version, weights, dtype, quantization or layers",
                remedy="start them alike: states of one run must come from one model",
            )
        if settings.hook and other.settings.hook and settings.hook.spool == other.settings.hook.spool:
            raise Refused(
                f"the servers {other.url} and {url} have one spool, {settings.hook.spool}",
                remedy="give each a `spool` of its own in --forward-hooks",
            )


def _probed(server: Server, wanted: Wanted) -> ElementType:
    """Run one prompt twice and return the element type of its states: what settings promise must be what comes.

    The second time a server that caches has nothing to compute, whatever its settings say.
    """
    import numpy as np

    token_ids = np.arange(_PROBE_TOKENS, dtype="<i8") % wanted.model.vocabulary
    element = ElementType.BF16
    for number in (1, 2):
        try:
            received, element = server.ask(server.request_id(f"probe-{secrets.token_hex(6)}-{number}"), token_ids)()
            require_whole(received, token_ids, wanted.form(element))
        except AttemptFailed as failed:
            raise Refused(
                f"a prompt of {_PROBE_TOKENS} tokens does not come out of {server.url} whole: {failed.reason}",
                remedy=_remedy_of_probe(server),
            ) from failed
    return element


def _remedy_of_probe(server: Server) -> str:
    if server.spool is None:
        return "see what the server logs about the request"
    return (
        f"see that {server.spool.folder} is a folder of this machine, that `target_modules` in --forward-hooks names "
        "the module with the layers (the server logs where it registered the hook), and what it logs about artifactctl"
    )
