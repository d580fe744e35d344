"""Which artifacts can come from which, and in which role by default."""

from artifactctl.domain.artifacts import Artifact, ArtifactKind, LineageRole
from artifactctl.domain.text import shell_word
from artifactctl.inventory.failures import UnfitLink
from artifactctl.recognition.seen import join

_KINDS = ArtifactKind
_DEFAULT_ROLES: dict[tuple[ArtifactKind, ArtifactKind], LineageRole] = {
    (_KINDS.RESPONSE_SET, _KINDS.MERGED_CORPUS): LineageRole.MERGED_FROM,
    (_KINDS.MERGED_CORPUS, _KINDS.HIDDEN_STATES): LineageRole.EXTRACTED_FROM,
    (_KINDS.MERGED_CORPUS, _KINDS.VOCAB_MAP): LineageRole.EXTRACTED_FROM,
    (_KINDS.HIDDEN_STATES, _KINDS.CHECKPOINT): LineageRole.TRAINED_ON,
    (_KINDS.VOCAB_MAP, _KINDS.CHECKPOINT): LineageRole.MAPPED_WITH,
    (_KINDS.VOCAB_MAP, _KINDS.DRAFT_MODEL): LineageRole.MAPPED_WITH,
    (_KINDS.CHECKPOINT, _KINDS.CHECKPOINT): LineageRole.RESUMED_FROM,
    (_KINDS.CHECKPOINT, _KINDS.DRAFT_MODEL): LineageRole.EXTRACTED_FROM,
    (_KINDS.MODEL, _KINDS.HIDDEN_STATES): LineageRole.EXTRACTED_FROM,
}
"""(kind of the parent, kind of the child) -> role."""

_ANY = frozenset(ArtifactKind)
_TRAINED = frozenset({_KINDS.CHECKPOINT, _KINDS.DRAFT_MODEL, _KINDS.MODEL})
_CORPORA = frozenset({_KINDS.RESPONSE_SET, _KINDS.MERGED_CORPUS})

_FITTING_KINDS: dict[LineageRole, tuple[frozenset[ArtifactKind], frozenset[ArtifactKind]]] = {
    LineageRole.MERGED_FROM: (_CORPORA, _CORPORA),
    LineageRole.EXTRACTED_FROM: (_ANY, _ANY),
    LineageRole.TRAINED_ON: (_ANY - _TRAINED, _TRAINED),
    LineageRole.MAPPED_WITH: (frozenset({_KINDS.VOCAB_MAP}), _TRAINED | {_KINDS.HIDDEN_STATES}),
    LineageRole.RESUMED_FROM: (_TRAINED, _TRAINED),
    LineageRole.SNAPSHOT_OF: (_TRAINED, _TRAINED),
}
"""role -> (kinds of parents, kinds of children). `supersedes` wants the same kind and has its own command."""


def role_for(child: Artifact, parent: Artifact, asked: str = "") -> LineageRole:
    """Return the role of `parent` for `child`: the one asked for if it fits the kinds, else the usual one."""
    if not asked:
        usual = _DEFAULT_ROLES.get((parent.kind, child.kind))
        if usual is None:
            fitting = _offered(child, parent)
            written = f"ROLE, with ROLE one of {fitting}" if ", " in fitting else fitting
            raise UnfitLink(
                f"a {parent.kind.value} ({parent.name}) has no usual role for a {child.kind.value} ({child.name})",
                remedy=f"say the role: --input {parent.name}:{written}; {_correction(child, parent)}",
            )
        return usual
    if asked not in {role.value for role in _FITTING_KINDS}:
        raise UnfitLink(f"{asked!r} is no role", remedy=f"one of {', '.join(role.value for role in _FITTING_KINDS)}")
    role = LineageRole(asked)
    parents, children = _FITTING_KINDS[role]
    if parent.kind not in parents or child.kind not in children:
        raise UnfitLink(
            f"{child.name}, a {child.kind.value}, cannot be {role.value} {parent.name}, a {parent.kind.value}",
            remedy=f"a role that fits: {_offered(child, parent)}",
        )
    return role


def _correction(child: Artifact, parent: Artifact) -> str:
    """Return what corrects the parent's kind: a scan cannot tell merged conversations from a response set."""
    merged = _KINDS.MERGED_CORPUS
    kind = merged.value if parent.kind is _KINDS.RESPONSE_SET and (merged, child.kind) in _DEFAULT_ROLES else "KIND"
    place = next((shell_word(join(copy.root.path, copy.relative)) for copy in parent.replicas), "PATH")
    return f"if the kind is wrong: `artifactctl register {place} --kind {kind}`"


def _offered(child: Artifact, parent: Artifact) -> str:
    fitting = [
        role.value
        for role, (parents, children) in _FITTING_KINDS.items()
        if parent.kind in parents and child.kind in children
    ]
    return ", ".join(fitting)


def split_input(word: str) -> tuple[str, str]:
    """Return (name or path, role or "") of `NAME[:ROLE]`; names hold no colon, and roles no slash: `HOST:PATH:ROLE`."""
    name, colon, role = word.rpartition(":")
    return (name, role) if colon and "/" not in role else (word, "")
