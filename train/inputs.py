"""What a run trains on, and whether it all belongs together: nothing stale, unverified or of another model passes.

Where a dump of somebody else's making does not say something, that is told (`notes`); what it says and does not fit is
refused.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from artifactctl.api import Session
from artifactctl.domain.artifacts import Artifact, ArtifactKind
from artifactctl.domain.errors import CheckFailed, Refused, UsageError
from extract.meant import catalogued
from extract.merging.manifest import read_merge_manifest
from extract.running.weights import weights_revision
from extract.shards.dumps import open_dump
from extract.shards.fingerprint import RunFingerprint
from extract.shards.form import StatesForm
from extract.vocabulary.draft_map import DraftMap
from extract.vocabulary.map_files import ABOUT, read_map
from train.settings import TrainingSettings
from train.target import TargetConfig, read_target_config


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """Inputs that fit together. `target_name` is "" where the catalog does not know the target."""

    states: Artifact
    states_folder: Path
    states_files: tuple[str, ...]
    states_digest: str
    map: Artifact
    map_folder: Path
    draft_map: DraftMap
    target: Path
    target_name: str
    target_revision: str
    config: TargetConfig
    layers: tuple[int, ...]
    notes: tuple[str, ...]

    @property
    def leased(self) -> tuple[str, ...]:
        """The names of all that is read and catalogued."""
        return tuple(name for name in (self.states.name, self.map.name, self.target_name) if name)


def resolve(session: Session, hidden_states: str, vocab_map: str, target: Path, settings: TrainingSettings) -> Inputs:
    """Return the inputs that the words mean; Refused, CheckFailed or UsageError, naming what does not fit."""
    states = session.require_usable(hidden_states, ArtifactKind.HIDDEN_STATES)
    made = session.require_usable(vocab_map, ArtifactKind.VOCAB_MAP)
    states_folder, map_folder = (
        Path(session.path(each.name).decode("utf-8", "surrogateescape")) for each in (states, made)
    )
    files = session.files(states.name)
    dump = open_dump(states_folder, files)
    form, fingerprint = dump.form, dump.fingerprint
    dump.close()
    draft_map, config, revision = read_map(map_folder), read_target_config(target), weights_revision(target)
    _require_map_as_catalogued(made, draft_map)
    layers = _layers(states, form, settings)
    _require_target_fits(states, form, layers, target, config)
    _require_map_fits(made, draft_map, target, config)
    notes = (
        *_require_same_weights(states, fingerprint, target, revision),
        *_require_same_tokens(session, states, fingerprint, made, map_folder),
    )
    return Inputs(
        states=states,
        states_folder=states_folder,
        states_files=files,
        states_digest=fingerprint.digest if fingerprint else _member_digest(states),
        map=made,
        map_folder=map_folder,
        draft_map=draft_map,
        target=target,
        target_name=catalogued(session, str(target)),
        target_revision=revision,
        config=config,
        layers=layers,
        notes=notes,
    )


def _member_digest(states: Artifact) -> str:
    return next(replica.member_digest for replica in states.replicas if replica.member_digest)


def _layers(states: Artifact, form: StatesForm, settings: TrainingSettings) -> tuple[int, ...]:
    """Return the captured boundaries; Refused where dump, catalog and settings say different ones."""
    labels = dict(states.labels)
    said = {
        "the dump": form.layers,
        "the catalog": tuple(int(layer) for layer in labels["layers"].split(",")) if labels.get("layers") else None,
        "the settings": settings.layers or None,
    }
    known = {source: layers for source, layers in said.items() if layers is not None}
    if not known:
        raise UsageError(
            f"{states.name} does not say which layers were captured",
            remedy="write layers = [2, 30, 58] into the settings: boundaries, 0 the embeddings",
        )
    if len(set(known.values())) > 1:
        differences = ", ".join(f"{source} says {list(layers)}" for source, layers in known.items())
        raise Refused(f"the layers of {states.name} are in doubt: {differences}", remedy="extract the layers you mean")
    layers = next(iter(known.values()))
    if len(layers) != form.captured:
        raise Refused(f"{states.name} holds {form.captured} layers, not {list(layers)}", remedy="check the layers")
    if labels.get("final_state", form.final_state.value) != form.final_state.value:
        raise Refused(
            f"{states.name} has final states `{form.final_state.value}` the norm, the catalog says "
            f"`{labels['final_state']}`",
            remedy="extract them again, or correct the label final_state",
        )
    return layers


def _require_target_fits(
    states: Artifact, form: StatesForm, layers: tuple[int, ...], target: Path, config: TargetConfig
) -> None:
    if form.hidden_size != config.hidden_size or max(layers) > config.blocks:
        raise Refused(
            f"{states.name} holds layers {list(layers)} of {form.hidden_size} channels, {target} has {config.blocks} "
            f"blocks of {config.hidden_size}",
            remedy="give the target whose states these are",
        )


def _require_map_as_catalogued(made: Artifact, draft_map: DraftMap) -> None:
    known = dict(made.labels).get("content") or made.content_digest
    if known and known != draft_map.content_digest:
        raise CheckFailed(
            f"{made.name} is not the map that was catalogued: its content is {draft_map.content_digest[:12]}, not "
            f"{known[:12]}",
            remedy=f"artifactctl verify {made.name}",
        )


def _require_map_fits(made: Artifact, draft_map: DraftMap, target: Path, config: TargetConfig) -> None:
    if draft_map.target_size != config.vocabulary:
        raise Refused(
            f"{made.name} maps a vocabulary of {draft_map.target_size:,} tokens, {target} has {config.vocabulary:,}",
            remedy=f"artifactctl extract vocab --target-size {config.vocabulary} ...",
        )


def _require_same_weights(
    states: Artifact, fingerprint: RunFingerprint | None, target: Path, revision: str
) -> tuple[str, ...]:
    if fingerprint is None or not fingerprint.model_revision:
        return (f"{states.name} does not say which weights made it: that they are those of {target} is your word",)
    if fingerprint.model_revision != revision:
        raise Refused(
            f"{states.name} was extracted from {fingerprint.model or 'another model'}, whose weights are not those of "
            f"{target}",
            remedy="give the target that the states were extracted from",
        )
    return ()


def _require_same_tokens(
    session: Session, states: Artifact, fingerprint: RunFingerprint | None, made: Artifact, map_folder: Path
) -> tuple[str, ...]:
    """Return what is not known of the tokenizers; Refused when they are known to be two."""
    about = _about(map_folder)
    corpus = about.get("corpus") or {}
    if fingerprint is None or not fingerprint.tokenizer:
        return (
            f"{states.name} does not say which tokenizer made its tokens: that it is that of {made.name} is your word",
        )
    if corpus.get("digest") == fingerprint.corpus:
        return ()
    counted = _tokenizer_of(session, str(corpus.get("artifact") or ""))
    if not counted:
        return (f"which tokenizer {made.name} was counted with is not known any more",)
    if counted != fingerprint.tokenizer:
        raise Refused(
            f"{made.name} counts the tokens of another tokenizer than {states.name} has",
            remedy="make the map of the corpus that the states were extracted from",
        )
    return (f"{made.name} was counted on {corpus['artifact']}, not on the corpus of {states.name}",)


def _about(map_folder: Path) -> dict[str, Any]:
    try:
        content = json.loads((map_folder / ABOUT).read_bytes())
    except (OSError, ValueError):
        return {}  # a map of somebody else's making says nothing of itself
    return content if isinstance(content, dict) else {}


def _tokenizer_of(session: Session, corpus: str) -> str:
    """Return the digest of the tokenizer of a corpus, "" where it cannot be known."""
    if not corpus:
        return ""
    try:
        manifest = read_merge_manifest(Path(session.path(corpus).decode("utf-8", "surrogateescape")))
    except (UsageError, CheckFailed, OSError):
        return ""
    return "" if manifest is None else str(manifest["merge"]["tokenizer"]["digest"])
