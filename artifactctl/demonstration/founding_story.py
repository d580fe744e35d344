"""The chapters. Each says in a sentence what is about to happen and then lets the commands speak."""

import json
from dataclasses import dataclass

from artifactctl.demonstration import props
from artifactctl.demonstration.reckoning import Reckoning, bytes_as_du_counts, used_bytes_of
from artifactctl.demonstration.scale import RESPONSE_SETS
from artifactctl.demonstration.stage import Stage
from artifactctl.demonstration.storyteller import Storyteller
from artifactctl.domain.errors import ExitCode
from artifactctl.domain.ledger import KnownHost
from artifactctl.report.machines import fingerprint_of
from artifactctl.report.sizes import format_whole_gib

NAME = f"data/{props.HIDDEN_STATES}"
PLAN_FILE = "next.json"
REASON = "made by this demonstration a moment ago"
RECLAIM = ("artifactctl", "reclaim", NAME, "--waive", "settled", "--reason", REASON)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scene:
    teller: Storyteller
    stage: Stage


def tell_founding_story(teller: Storyteller, stage: Stage) -> None:
    """Tell it from the first `df` to the last question; StoryStopped when a command ends as it should not."""
    scene = _Scene(teller=teller, stage=stage)
    _introduce(scene)
    _lay_out(scene)
    _look_around(scene)
    _record_where_it_came_from(scene)
    _ask_whether_it_fits(scene)
    if _preview(scene):
        _be_refused(scene)
        _set_aside_and_restore(scene)
        _delete_for_good(scene)
    _ask_what_happened(scene)


def _introduce(scene: _Scene) -> None:
    stage, say = scene.stage, scene.teller.say
    machine = stage.ground.machine
    scene.teller.title(f"artifactctl: the founding story, on {machine.name if machine else 'this machine'}")
    if machine is not None:
        say(
            f"Told small, 1 : 100,000, in a folder of its own on {machine.name}: {stage.ground.place()}.",
            "Nothing of yours is touched and nothing stays behind, here or there. All of it is typed on this machine,",
            f"in {stage.folder}.",
        )
    elif stage.why_small:
        say(
            f"Told small, 1 : 100,000, on real files in a folder instead of a 12 TB volume: {stage.why_small}.",
            f"Nothing of yours is touched and nothing stays behind. All of it is typed in {stage.folder}.",
        )
    else:
        say(
            "On a real XFS volume of 12 TB, made a moment ago in a sparse file that takes about 70 MiB of your disk.",
            f"Nothing of yours is touched and nothing stays behind. All of it is typed in {stage.folder}.",
        )


def _lay_out(scene: _Scene) -> None:
    props.lay_out(scene.stage.volume, scene.stage.scale)
    scene.stage.ground.settle(scene.stage.volume)
    scene.teller.heading("The disk as they found it")
    scene.teller.say(
        "Two engineers train a draft model for Kimi-K2.5. The hidden states of the first ten thousand samples",
        "are on the volume, and the next run will be several times as large.",
    )
    scene.stage.ground.look(scene.teller, "df", "-h")
    scene.stage.ground.look(scene.teller, "du", "-h", "--max-depth=1")


def _look_around(scene: _Scene) -> None:
    scene.teller.heading("What is it all?")
    scene.teller.say("Say once where the tool may act, then let it look. It reads headers, never the data.")
    scene.teller.run("artifactctl", "init", "--yes")
    if scene.stage.ground.machine is not None:
        _make_known(scene, scene.stage.ground.machine)
    scene.teller.run("artifactctl", "root", "add", scene.stage.ground.place(), "--name", "data")
    scene.teller.run("artifactctl", "scan", "data")
    scene.teller.run("artifactctl", "du")


def _make_known(scene: _Scene, machine: KnownHost) -> None:
    """Add the machine to the story's own catalog by the key that the person's catalog has of it."""
    scene.teller.run(
        *("artifactctl", "host", "add", machine.name, machine.address),
        *("--host-key", fingerprint_of(machine), *(("--sudo",) if machine.uses_sudo else ())),
    )
    scene.teller.say("From now on only a machine with that key and that machine id is taken for it.")


def _record_where_it_came_from(scene: _Scene) -> None:
    scale = scene.stage.scale
    scene.teller.heading("Where did it come from?")
    scene.teller.say(
        "Ten response sets were merged into one corpus; the old states came from an older one. Said once, it is known.",
        f"(All {scale.records:,} records are there, but short: their {scale.corpus_tokens} tokens are declared, like",
        "the 19 hours.)",
    )
    inputs = [word for name in RESPONSE_SETS for word in ("--input", f"data/{props.RESPONSES}/{name}.jsonl")]
    scene.teller.run(
        *("artifactctl", "register", scene.stage.ground.place(props.MERGED_CORPUS), "--kind", "merged_corpus"),
        *("--tokens", scale.corpus_tokens, "--records", str(scale.records)),
        *inputs,
    )
    scene.teller.run(
        *("artifactctl", "register", scene.stage.ground.place(props.HIDDEN_STATES), "--kind", "hidden_states"),
        *("--input", f"data/{props.OLD_CORPUS}", "--run-time", "19h"),
    )
    scene.teller.run("artifactctl", "link", f"data/{props.VOCAB_MAP}", "--input", f"data/{props.MERGED_CORPUS}")
    scene.teller.run("artifactctl", "lineage", f"data/{props.MERGED_CORPUS}")
    scene.teller.say("Is every shard whole, and is every record of the merge there?")
    scene.teller.run("artifactctl", "verify", NAME, f"data/{props.MERGED_CORPUS}")


def _ask_whether_it_fits(scene: _Scene) -> None:
    scene.teller.heading("Does the next extraction fit?")
    scene.teller.say(
        "This is where somebody usually makes room first. Three layers of 7,168 channels in bf16 are 42 KiB a token."
    )
    scene.teller.run(
        *("artifactctl", "plan", "extraction", "--corpus", f"data/{props.MERGED_CORPUS}"),
        *("--model", "kimi-k2.5", "--layers", "2,30,58", "--volume", "data", "--out", PLAN_FILE),
        ends_with=(ExitCode.DONE, ExitCode.CHECK_FAILED),
    )
    plan = json.loads((scene.stage.folder / PLAN_FILE).read_text(encoding="utf-8"))
    if plan["verdict"] != "fits":
        scene.teller.say(
            "On this disk it does not; the answer above says what is missing. The story goes on regardless."
        )
        return
    scene.teller.say("And what has to go for that?")
    scene.teller.run("artifactctl", "reclaim", "--for", PLAN_FILE)
    if not scene.stage.why_small:
        old = format_whole_gib(bytes_as_du_counts(scene.stage.volume / props.HIDDEN_STATES))
        scene.teller.say(
            f"Nothing had to be deleted: {format_whole_gib(plan['demand_bytes'])} fit beside the old {old}."
        )


def _preview(scene: _Scene) -> bool:
    """Show what would go; return whether it may, which a small folder on an unsuitable filesystem cannot promise."""
    scene.teller.heading("Deleting with proof")
    scene.teller.say(
        "They want the old states gone all the same. First a look, which writes nothing. One of thirteen guards asks",
        "for fifteen quiet minutes; here everything is younger, so it is waived: by name, with a reason, on record.",
    )
    code = scene.teller.run(*RECLAIM, "--dry-run", ends_with=(ExitCode.DONE, ExitCode.REFUSED))
    if code:
        scene.teller.say(
            "Not knowing counts as a no, so that on this machine they stay, and the story ends early. On a folder of",
            "ext4, xfs, btrfs or tmpfs the kernel settles it: `artifactctl demo --dir DIR` tells all of it there.",
        )
    return not code


def _be_refused(scene: _Scene) -> None:
    scene.teller.say("Only that somebody is still reading one of the shards.")
    with scene.stage.ground.reading(scene.teller, props.HIDDEN_STATES, props.shard_name(117)):
        code = scene.teller.run(*RECLAIM, "--yes", ends_with=(ExitCode.REFUSED,))
        scene.teller.say(
            f"Exit code {code}: refused, nothing changed. No option waives this one; the reader has to end."
        )


def _set_aside_and_restore(scene: _Scene) -> None:
    scene.teller.heading("It goes, and comes back")
    scene.teller.say(
        "Nobody reads now. What goes is first set aside by a rename, which frees nothing and can be undone."
    )
    scene.teller.run(*RECLAIM, "--yes")
    scene.teller.say("Second thoughts: the same files, in the same place.")
    scene.teller.run("artifactctl", "quarantine", "restore", NAME, "--reason", "second thoughts", "--yes")


def _delete_for_good(scene: _Scene) -> None:
    scene.teller.heading("It goes for good")
    scene.teller.say("Decided. Every guard is asked again at each of the two steps.")
    if scene.stage.why_small:
        scene.teller.run(*RECLAIM, "--yes")
        _purge(scene)
        return
    removed = bytes_as_du_counts(scene.stage.volume / props.HIDDEN_STATES)
    scene.teller.run(*RECLAIM, "--yes")
    used_before = used_bytes_of(scene.stage.volume)
    _purge(scene)
    reckoning = Reckoning(
        used_before_bytes=used_before,
        removed_bytes=removed,
        used_now_bytes=used_bytes_of(scene.stage.volume),
    )
    scene.teller.say(*reckoning.lines())


def _purge(scene: _Scene) -> None:
    scene.teller.run(
        *("artifactctl", "quarantine", "purge", NAME, "--reason", "the disk is needed", "--yes"),
        ends_with=(ExitCode.DONE, ExitCode.PARTLY_DONE),
    )
    scene.stage.ground.look(scene.teller, "df", "-h")


def _ask_what_happened(scene: _Scene) -> None:
    scene.teller.heading("Months later: what happened to the old hidden states?")
    scene.teller.run("artifactctl", "ls", "--state", "gone")
    scene.teller.run("artifactctl", "audit", "ls", "--artifact", NAME)
    scene.teller.say("And did nobody change that answer? Every event carries the hash of the one before.")
    scene.teller.run("artifactctl", "audit", "verify")
