"""Where the story happens: a folder of its own, with the large volume in it or a small folder in its place.

What goes away how: children end with their pipes or are killed, what is mounted is unmounted, the folder is removed.
After SIGINT, SIGTERM, SIGHUP and any error that is done here. After SIGKILL the kernel ends the mounts, and with them
the loop device and every file (`private_mounts`), so that an empty folder is all that stays; without root, which cannot
mount, the small files stay as well.
"""

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from artifactctl.demonstration.scale import A_HUNDRED_THOUSANDTH, AS_IT_HAPPENED, Scale
from artifactctl.demonstration.sparse_volume import NoVolumeHere, folder_in_memory, mount_sparse_volume
from artifactctl.domain.errors import UsageError

FOLDER_PREFIX = "artifactctl-demo-"
NO_CONFIGURATION = "# The story starts from nothing: no configuration further up applies below this folder.\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """`folder` holds everything; `volume` is the folder in it that the tool will manage.

    `why_small`: why the story is told small, "" when it is told as it happened.
    """

    folder: Path
    volume: Path
    scale: Scale
    why_small: str = ""


@contextmanager
def staged(place: Path | None) -> Iterator[Stage]:
    """Yield a stage below `place` (default: where temporary files go); nothing of it is left afterwards."""
    with ExitStack() as stack:
        try:
            made = tempfile.TemporaryDirectory(prefix=FOLDER_PREFIX, dir=place)
        except OSError as error:
            raise UsageError(
                f"no folder can be made in {place or 'the folder for temporary files'}: {error.strerror}",
                remedy="name a folder you may write to with --dir",
            ) from error
        # A managed root is never reached through a link, so that the folder is called by its real name.
        folder = Path(stack.enter_context(made)).resolve()
        yield _set_up(stack, folder)


def _set_up(stack: ExitStack, folder: Path) -> Stage:
    volume = folder / "volume"
    scale, why_small = AS_IT_HAPPENED, ""
    try:
        stack.enter_context(folder_in_memory(folder))
        volume.mkdir()
        mount_sparse_volume(volume, image=folder.with_name(f"{folder.name}.img"))
    except NoVolumeHere as reason:
        volume.mkdir(exist_ok=True)
        scale, why_small = A_HUNDRED_THOUSANDTH, str(reason)
    (folder / "artifactctl.toml").write_text(NO_CONFIGURATION, encoding="utf-8")
    return Stage(folder=folder, volume=volume, scale=scale, why_small=why_small)
