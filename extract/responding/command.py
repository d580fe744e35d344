"""`artifactctl extract respond`."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from artifactctl.domain.errors import ArtifactctlError, ExitCode
from extract.answering import Stage
from extract.merging.command import Tokens
from extract.responding.words import Duration, Price

if TYPE_CHECKING:
    from extract.responding.outcome import Responded

_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)


@click.command("respond", cls=Stage)
@click.argument("prompts", nargs=-1, metavar="[PROMPTS]...")
@click.option("--prompts", "more_prompts", multiple=True, metavar="FILE|NAME", help="Prompts; the same as PROMPTS.")
@click.option("--server", required=True, metavar="URL", help="The server, such as http://localhost:8000.")
@click.option("--model", required=True, metavar="NAME", help="The model as the server calls it.")
@click.option("--out", type=click.Path(path_type=Path), required=True, metavar="DIR", help="The folder to make.")
@click.option("--concurrency", type=click.IntRange(1, 4096), default=16, show_default=True, help="Requests at a time.")
@click.option("--max-tokens", type=Tokens(), default=4096, show_default=True, help="The longest answer.")
@click.option("--budget-tokens", type=Tokens(), help="Stop before the set costs more tokens, earlier runs included.")
@click.option("--key-file", type=click.Path(path_type=Path), metavar="FILE", help="A file with the server's key.")
@click.option("--key-env", metavar="NAME", help="The name of a variable with the server's key.")
@click.option("--temperature", type=click.FloatRange(0, 10), help="Sampling (default: the server's own).")
@click.option("--top-p", type=click.FloatRange(0, 1, min_open=True), help="Sampling (default: the server's own).")
@click.option("--seed", type=int, help="The seed of every request (default: none).")
@click.option("--extra-body", type=_FILE, metavar="FILE", help="A JSON object with further fields of each request.")
@click.option("--attempts", type=click.IntRange(1, 100), default=8, show_default=True, help="The most for one prompt.")
@click.option("--timeout", type=Duration(), default="10m", help="How long the server may be silent (default: 10m).")
@click.option("--prompt-price", type=Price(), metavar="USD", help="What a million tokens of prompts cost.")
@click.option("--answer-price", type=Price(), metavar="USD", help="What a million tokens of answers cost.")
@click.option("--accept-holes", is_flag=True, help="Complete the set although prompts got no answer; they are listed.")
@click.option("--name", default="", help="What to call the set (default: root/path).")
def respond_command(**given: Any) -> None:
    """Have a server answer prompts: one response set.

    PROMPTS are .jsonl, .jsonl.zst, .jsonl.gz or .parquet files, folders of them, or catalogued names, with OpenAI
    `messages`, ShareGPT `conversations` (an answer at the end is left away and asked for anew) or `prompt`. The server
    is any that has OpenAI's chat completions.

    The same command again asks for what is missing only. Exits 5 while prompts are without an answer.
    """
    import os

    from extract.answering import answer, session, shown_line, warn
    from extract.merging.stage import sources_meant
    from extract.responding.given import Given
    from extract.responding.reporting import Watch, lines, payload
    from extract.responding.stage import respond

    said = Given(**given)
    with session() as opened:
        wanted = said.wanted(sources_meant(opened, said.words), os.environ)
        for line in said.warnings(wanted):
            warn(line)
        watch = Watch()
        with shown_line(watch.line) as show:
            done = respond(opened, wanted, watch.following(show))
    answer("extract_respond", payload(done, wanted), lines(done, wanted))
    _end(done)


def _end(done: "Responded") -> None:
    """Exit: 0 complete, 5 with holes or stopped; stopped before anything was answered 130 (a signal) or 4."""
    from extract.answering import warn
    from extract.responding.stopping import StopReason

    if done.stop is not None:
        ended = ArtifactctlError(done.stop.message, remedy=done.stop.remedy)
        ended.exit_code = ExitCode.PARTLY_DONE
        if not done.answered_now:
            is_signal = done.stop.reason is StopReason.SIGNAL
            ended.exit_code = ExitCode.INTERRUPTED if is_signal else ExitCode.REFUSED
        raise ended
    if not done.is_sealed:
        warn("hint: the same command asks for what is missing; with --accept-holes it completes the set without that")
    raise SystemExit(int(ExitCode.PARTLY_DONE if done.unanswered else ExitCode.DONE))
