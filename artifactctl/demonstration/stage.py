"""Where the story happens: a folder of its own, with the large volume in it or a small folder in its place, or with a
small folder on another machine (`far_side` says how that one goes away).

What goes away how: children end with their pipes or are killed, what is mounted is unmounted, the folder is removed.
After SIGINT, SIGTERM, SIGHUP and any error that is done here. After SIGKILL the kernel ends the mounts, and with them
the loop device and every file (`private_mounts`), so that an empty folder is all that stays; without root, which cannot
mount, the small files stay as well.
"""

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from artifactctl.demonstration.far_folder import far_folder
from artifactctl.demonstration.ground import VOLUME, FarGround, Ground, NearGround
from artifactctl.demonstration.scale import A_HUNDRED_THOUSANDTH, AS_IT_HAPPENED, Scale
from artifactctl.demonstration.sparse_volume import NoVolumeHere, folder_in_memory, mount_sparse_volume
from artifactctl.domain.errors import UsageError
from artifactctl.domain.ledger import KnownHost

FOLDER_PREFIX = "artifactctl-demo-"
NO_CONFIGURATION = "# The story starts from nothing: no configuration further up applies below this folder.\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """The commands are typed in `folder`; in it files are laid out in `volume` and then settle on the `ground`.

    `why_small`: why the story is told small, "" when it is told as it happened. `left_before`: folders of earlier
    stories, with their machine, whose end nobody was left to see to.
    """

    folder: Path
    volume: Path
    ground: Ground
    scale: Scale
    why_small: str = ""
    left_before: tuple[str, ...] = ()


@contextmanager
def staged(place: str | None) -> Iterator[Stage]:
    """Yield a stage below `place` (default: where temporary files go); nothing of it is left afterwards."""
    with ExitStack() as stack:
        yield _set_up(stack, _own_folder(stack, place))


@contextmanager
def staged_on(known: KnownHost, place: str | None, *, environment: Mapping[str, str]) -> Iterator[Stage]:
    """Yield a stage whose files lie below `place` of another machine; nothing is left there either."""
    with ExitStack() as stack:
        folder = _own_folder(stack, None)
        far = stack.enter_context(far_folder(known, prefix=FOLDER_PREFIX, place=place, environment=environment))
        (folder / "artifactctl.toml").write_text(NO_CONFIGURATION, encoding="utf-8")
        (folder / VOLUME).mkdir()
        yield Stage(
            folder=folder,
            volume=folder / VOLUME,
            ground=FarGround(known=known, folder=far),
            scale=A_HUNDRED_THOUSANDTH,
            why_small=f"it happens on {known.name}, where no volume is made for it",
            left_before=tuple(f"{known.name}:{path}" for path in far.left_before),
        )


def _own_folder(stack: ExitStack, place: str | None) -> Path:
    try:
        made = tempfile.TemporaryDirectory(prefix=FOLDER_PREFIX, dir=place)
    except OSError as error:
        raise UsageError(
            f"no folder can be made in {place or 'the folder for temporary files'}: {error.strerror}",
            remedy="name a folder you may write to with --dir",
        ) from error
    # A managed root is never reached through a link, so that the folder is called by its real name.
    return Path(stack.enter_context(made)).resolve()


def _set_up(stack: ExitStack, folder: Path) -> Stage:
    volume = folder / VOLUME
    scale, why_small = AS_IT_HAPPENED, ""
    try:
        stack.enter_context(folder_in_memory(folder))
        volume.mkdir()
        mount_sparse_volume(volume, image=folder.with_name(f"{folder.name}.img"))
    except NoVolumeHere as reason:
        volume.mkdir(exist_ok=True)
        scale, why_small = A_HUNDRED_THOUSANDTH, str(reason)
    (folder / "artifactctl.toml").write_text(NO_CONFIGURATION, encoding="utf-8")
    ground = NearGround(folder=folder)
    return Stage(folder=folder, volume=volume, ground=ground, scale=scale, why_small=why_small)
