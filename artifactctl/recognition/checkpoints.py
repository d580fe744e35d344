"""Checkpoints of other trainers: Lightning, DeepSpeed, torch distributed, SpecForge; and torch files of any content."""

import re

from artifactctl.domain.artifacts import ArtifactKind
from artifactctl.domain.errors import HostFailure
from artifactctl.domain.text import display_path
from artifactctl.recognition import torch_archive
from artifactctl.recognition.pickled_tensors import NotPlainTensors, describe, strings
from artifactctl.recognition.sightings import Layout, Sighting
from artifactctl.recognition.views import FolderView, first_line
from artifactctl.recognition.vocab_maps import vocab_file

DEEPSPEED_FOLDER = re.compile(rb"global_step(\d+)")
_DEEPSPEED_FILE = re.compile(rb".*(?:_model_states|_optim_states|-model_states)\.pt")
_SPECFORGE_FOLDER = re.compile(rb"(?P<run>.+)-step(?P<step>\d+)")
_EPOCH_STEP = re.compile(rb"(?:^|[-_])(?P<name>epoch|step)=?(?P<number>\d+)")
_MEASURED = re.compile(rb"(?P<name>[A-Za-z_][\w/.]*)=(?P<number>-?\d+(?:\.\d+)?(?:e-?\d+)?)")
_STRINGS_READ = 64


def deepspeed(view: FolderView) -> Sighting | None:
    """Recognise a `global_stepN` folder; `latest` beside it names the one to resume from."""
    match = DEEPSPEED_FOLDER.fullmatch(view.name)
    if match is None or not any(view.matching(_DEEPSPEED_FILE)):
        return None
    parent = view.relative.rpartition(b"/")[0]
    latest = first_line(view.read, parent + b"/latest" if parent else b"latest")
    is_latest = latest == display_path(view.name)
    return _checkpoint(
        view,
        Layout.DEEPSPEED,
        details=(("is_latest", "yes"),) if is_latest else (),
        metrics=(("step", float(match[1])),),
    )


def torch_distributed(view: FolderView) -> Sighting | None:
    """Recognise torch.distributed.checkpoint: `.metadata` written last, beside `*.distcp`."""
    if not any(name.endswith(b".distcp") for name in view.files):
        return None
    whole = b".metadata" in view.files
    problems = () if whole else ("its .metadata is missing: it was never finished",)
    return _checkpoint(view, Layout.DISTRIBUTED, problems=problems)


def specforge_training(view: FolderView) -> Sighting | None:
    """Recognise `<run>-step<N>` with `training_state.pt`, which SpecForge writes last."""
    match = _SPECFORGE_FOLDER.fullmatch(view.name)
    if match is None or not any(name.startswith(b"training_state") for name in view.files):
        return None
    whole = b"training_state.pt" in view.files
    return _checkpoint(
        view,
        Layout.SPECFORGE_TRAINING,
        details=(("run", display_path(match["run"])),),
        metrics=(("step", float(match["step"])),),
        problems=() if whole else ("training_state.pt is missing: it was never finished",),
    )


def _checkpoint(
    view: FolderView,
    layout: Layout,
    *,
    details: tuple[tuple[str, str], ...] = (),
    metrics: tuple[tuple[str, float], ...] = (),
    problems: tuple[str, ...] = (),
) -> Sighting:
    return Sighting(
        kind=ArtifactKind.CHECKPOINT,
        relative=view.relative,
        is_directory=True,
        layout=layout,
        details=details,
        metrics=metrics,
        problems=problems,
    )


def torch_file(view: FolderView, name: bytes) -> Sighting | None:
    """Recognise a file that torch wrote: a Lightning checkpoint, a vocabulary map, or a torch file not read further."""
    path = view.path(name)
    try:
        head = view.read(path, 0, len(torch_archive.LEGACY_MAGIC))
        if head == torch_archive.LEGACY_MAGIC:
            return _torch_sighting(path)
        if not head.startswith(torch_archive.ZIP_MAGIC):
            return None
        return _archived(view, name)
    except HostFailure as failure:
        return _torch_sighting(path, problems=(f"cannot be read: {failure.message}",))


def _archived(view: FolderView, name: bytes) -> Sighting | None:
    path = view.path(name)
    try:
        archive = torch_archive.open_archive(view.read, path, view.files[name])
    except torch_archive.NoTorchArchive:
        return None
    except torch_archive.TornArchive as torn:
        kind = ArtifactKind.CHECKPOINT if name.endswith(b".ckpt") else ArtifactKind.OTHER
        return _torch_sighting(path, kind=kind, metrics=_from_name(name), problems=(str(torn),))
    keys = _plain_keys(archive.pickle)
    if {"t2d", "d2t"} <= keys:
        return vocab_file(view, name)
    words = keys or frozenset(strings(archive.pickle, most=_STRINGS_READ))
    if name.endswith(b".ckpt") and words & {"state_dict", "pytorch-lightning_version", "optimizer_states"}:
        return _torch_sighting(path, kind=ArtifactKind.CHECKPOINT, layout=Layout.LIGHTNING, metrics=_from_name(name))
    return _torch_sighting(path)


def _plain_keys(pickle: bytes) -> frozenset[str]:
    """Return the keys of a dict of plain tensors; nothing for anything else."""
    try:
        content = describe(pickle)
    except NotPlainTensors:
        return frozenset()
    return frozenset(str(key) for key in content) if isinstance(content, dict) else frozenset()


def _torch_sighting(
    path: bytes,
    *,
    kind: ArtifactKind = ArtifactKind.OTHER,
    layout: Layout = Layout.TORCH_FILE,
    metrics: tuple[tuple[str, float], ...] = (),
    problems: tuple[str, ...] = (),
) -> Sighting:
    details = (("content", "not read"),) if layout is Layout.TORCH_FILE else ()
    return Sighting(
        kind=kind,
        relative=path,
        is_directory=False,
        layout=layout,
        details=details,
        metrics=metrics,
        problems=problems,
    )


def _from_name(name: bytes) -> tuple[tuple[str, float], ...]:
    """Return epoch, step and measurements from a name such as `epoch=3-step=1000-val_loss=0.25.ckpt`."""
    stem = name.removesuffix(b".ckpt")
    metrics = {display_path(match["name"]): float(match["number"]) for match in _MEASURED.finditer(stem)}
    metrics |= {display_path(match["name"]): float(match["number"]) for match in _EPOCH_STEP.finditer(stem)}
    return tuple(metrics.items())
