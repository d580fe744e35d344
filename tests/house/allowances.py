"""Where a module outside hosts/probe may touch files, and why: only ever the tool's own, never managed storage.

An entry that is no longer needed fails the test, so the list stays as short as the truth.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """One call in one module, with the reason why what it touches is not managed storage."""

    module: str
    call: str
    reason: str


_PUBLISHING = "artifactctl/catalog/publishing.py"
_STAGE = "extract/publishing.py"
_SPOOL = "extract/sglang/spool.py"

OWN_FILES: tuple[Allowance, ...] = (
    Allowance(
        module="artifactctl/cli/plug_in_index.py",
        call="os.scandir",
        reason="the folders Python imports from, to see which packages offer commands",
    ),
    Allowance(
        module="artifactctl/configuration/policy_files.py",
        call="os.listdir",
        reason="the folder of policy files that a person named or configured",
    ),
    Allowance(
        module="artifactctl/hosts/ssh/config_lines.py",
        call="glob.glob",
        reason="the files that `Include` names in the user's own ssh_config",
    ),
    Allowance(
        module=_PUBLISHING, call="os.unlink", reason="the partial file it made itself, beside a backup or export"
    ),
    Allowance(
        module="artifactctl/demonstration/sparse_volume.py",
        call=".unlink",
        reason="the image of the demonstration's own volume, in the folder it made a moment before",
    ),
    Allowance(
        module="artifactctl/demonstration/far_side.py",
        call="shutil.rmtree",
        reason="the demonstration's own folder on the other machine, which it made a moment before",
    ),
    Allowance(
        module="artifactctl/demonstration/far_side.py",
        call="os.listdir",
        reason="the names beside that folder, to tell which an earlier story left there",
    ),
    Allowance(module=_PUBLISHING, call="os.rename", reason="a backup gets its name; a damaged catalog goes aside"),
    Allowance(module=_PUBLISHING, call="os.replace", reason="an export takes the place of an earlier one"),
    Allowance(module=_STAGE, call="os.listdir", reason="folders that a person named: to read from, to write into"),
    Allowance(module=_STAGE, call=".unlink", reason="what a killed run of the stage left in its own folder aside"),
    Allowance(module=_STAGE, call="os.rmdir", reason="the stage's own folder aside, once it is empty again"),
    Allowance(module=_STAGE, call="os.replace", reason="the stage's own output gets its name; nothing stands there"),
    Allowance(
        module="extract/merging/merge.py", call=".unlink", reason="the list of a merge in which all was readable"
    ),
    Allowance(module=_SPOOL, call="os.listdir", reason="the folder through which a server hands over states"),
    Allowance(module=_SPOOL, call="os.replace", reason="a record in the spool gets its name, once it is whole"),
    Allowance(module=_SPOOL, call="os.unlink", reason="records in the spool that were taken, or that nobody finishes"),
)
