"""Which name leads to which command, with the line `artifactctl --help` shows for it (no module is loaded for that).

The line equals the command's own short help; a test compares them.
"""

PLUG_IN_GROUP = "artifactctl.commands"
"""The entry-point group through which other packages add commands."""

_FOLDER = "artifactctl.cli.commands"

SECTIONS: tuple[tuple[str, dict[str, tuple[str, str]]], ...] = (
    (
        "Set up",
        {
            "demo": (
                f"{_FOLDER}.demo:demo",
                "Tell the founding story on this machine, in a folder of its own that goes away again.",
            ),
            "init": (f"{_FOLDER}.init:init", "Create or upgrade the catalog."),
            "root": (f"{_FOLDER}.root:root", "Say below which folders artifactctl may act."),
            "host": (f"{_FOLDER}.host:host", "Say which other machines there are, and how they are."),
            "completion": (f"{_FOLDER}.completion:completion", "Print the completion script for a shell."),
        },
    ),
    (
        "What is there",
        {
            "scan": (
                f"{_FOLDER}.stock:scan",
                "Recognise and register what is there; report drift, strays and bytes that are nobody's.",
            ),
            "ls": (f"{_FOLDER}.browse:ls", "List artifacts."),
            "show": (f"{_FOLDER}.browse:show", "Show everything known about one artifact."),
            "lineage": (f"{_FOLDER}.browse:lineage", "Show what an artifact was made from and used for."),
            "du": (
                f"{_FOLDER}.space:du",
                "Measure catalogued and uncatalogued bytes below the roots of every machine, or below PATH.",
            ),
            "df": (
                f"{_FOLDER}.space:df",
                "Show volumes with reserved, quarantined and unaccounted bytes, on every machine that has roots.",
            ),
        },
    ),
    (
        "What it is",
        {
            "register": (
                f"{_FOLDER}.stock:register",
                "Say what the thing at PATH is, what it was made from and what it cost.",
            ),
            "verify": (
                f"{_FOLDER}.stock:verify",
                "Check that every member is there, whole, and what was declared; exits 3 when not.",
            ),
            "link": (f"{_FOLDER}.linking:link", "Record what an artifact was made from."),
            "supersede": (f"{_FOLDER}.linking:supersede", "Record that one artifact takes the place of another."),
            "record": (f"{_FOLDER}.linking:record", "Record measurements of an artifact made elsewhere."),
        },
    ),
    (
        "Will it fit",
        {
            "plan": (f"{_FOLDER}.plan:plan", "Ask whether the next stage fits on a volume."),
            "reservation": (
                f"{_FOLDER}.reservation:reservation",
                "See and give back promised space; `plan --reserve` promises it.",
            ),
        },
    ),
    (
        "Make room",
        {
            "rescue": (
                f"{_FOLDER}.rescue:rescue",
                "Look at a filling disk: who writes, when it is full, what could go.",
            ),
            "reclaim": (
                f"{_FOLDER}.reclaim:reclaim",
                "Free space with proof: preview it, or move it to quarantine after a question.",
            ),
            "approve": (
                f"{_FOLDER}.reclaim:approve",
                "Record your consent to a saved plan; `apply` then asks no more.",
            ),
            "apply": (
                f"{_FOLDER}.reclaim:apply",
                "Carry out a saved plan, step by step, looking again before each.",
            ),
            "quarantine": (f"{_FOLDER}.quarantine:quarantine", "See, restore and purge what was set aside."),
            "guard": (
                f"{_FOLDER}.guard:guard",
                "Pause a running job before the disk is full, and let it go on when there is room.",
            ),
            "why": (
                f"{_FOLDER}.why:why",
                "Say whether an artifact may go, every reason against it, and what would change that.",
            ),
        },
    ),
    (
        "Keep it",
        {
            "hold": (f"{_FOLDER}.hold:hold", "Keep artifacts, whatever policies say."),
            "policy": (
                f"{_FOLDER}.policy:policy",
                "Check, test, show and compare the files that say what may go.",
            ),
            "archive": (
                f"{_FOLDER}.archive:archive",
                "Copy an artifact to another root or an object store, and verify the copy by reading it back from "
                "there.",
            ),
            "unarchive": (
                f"{_FOLDER}.archive:unarchive",
                "Bring an artifact back from another copy, byte for byte, and verify it by reading it back.",
            ),
            "leave": (
                f"{_FOLDER}.leave:leave",
                "Say what exists only on a machine, in which order to save it, and whether there is time; exits 3 "
                "when not.",
            ),
            "lease": (f"{_FOLDER}.lease:lease", "Say what is in use, so that nothing removes it meanwhile."),
            "role": (f"{_FOLDER}.role:role", "Say who may do what; without any role everybody may do everything."),
        },
    ),
    (
        "What happened",
        {
            "doctor": (
                f"{_FOLDER}.doctor:doctor",
                "Compare catalog and disk, and explain unfinished operations; exits 3 when something is wrong.",
            ),
            "catalog": (
                f"{_FOLDER}.catalog:catalog",
                "Back the catalog up, put a backup in its place, move it, or export what it knows.",
            ),
            "audit": (f"{_FOLDER}.audit:audit", "Ask what happened, and prove that nobody changed the answer."),
            "report": (
                f"{_FOLDER}.report:report",
                "Report on the whole stock: volumes, what could go and why not, quarantine, holds, lineage, events.",
            ),
            "metrics": (
                f"{_FOLDER}.metrics:metrics",
                "Print figures for Prometheus: bytes, volumes, quarantine, promises, last acts.",
            ),
        },
    ),
)
"""Section title to {command: (`module:attribute`, its line in the help)}."""

COMMANDS: dict[str, str] = {name: target for _, table in SECTIONS for name, (target, _) in table.items()}
"""Command name to `module:attribute`."""

PLUG_IN_SUMMARIES = {
    "extract": "Make response sets, corpora, vocabulary maps and hidden states.",
    "train": "Train, evaluate and export EAGLE-3 draft models.",
}
"""What help says about the plug-ins that ship with artifactctl; others are listed with the package they come from."""
