"""`plan`: does the next stage fit, until when, and what is the cheapest thing to give up."""

import time
from datetime import timedelta

import click

from artifactctl.cli.options import ARTIFACT, DURATION, PARAMETERS, PATH, PLACE, SIZE, TOKENS
from artifactctl.cli.plan_answers import answer_plan, out_option, planning_world, reserve_option, volume_option
from artifactctl.cli.recipe_options import RecipeChoices, layout_option, recipe_options
from artifactctl.cli.shared_options import Group, if_given
from artifactctl.cli.which_machine import host_of_volume, spot_of
from artifactctl.cli.wiring import Wiring, pass_wiring
from artifactctl.domain.errors import UsageError


@click.group(cls=Group)
def plan() -> None:
    """Ask whether the next stage fits on a volume.

    The answer is fits, fits after reclaim, or does not fit (exit code 3).
    """


@plan.command("extraction", changes=if_given("out", "reserve"))
@click.option("--corpus", type=ARTIFACT, help="The corpus whose tokens are extracted.")
@click.option("--tokens", type=TOKENS, help="How many tokens, such as 87.8M.")
@recipe_options
@layout_option
@volume_option
@reserve_option
@out_option
@pass_wiring
def extraction(
    wiring: Wiring,
    corpus: str | None,
    tokens: int | None,
    recipe: RecipeChoices,
    layout: str,
    volume: str | None,
    out: bytes | None,
    *,
    reserve: bool,
) -> None:
    """Plan a dump of hidden states."""
    from artifactctl.inventory.planning_capacity import plan_next_extraction

    if (corpus is None) == (tokens is None):
        raise UsageError("an extraction needs either a corpus or a number of tokens", remedy="give --tokens 87.8M")
    with planning_world(wiring) as world:
        word = wiring.volume_word(volume)
        host = host_of_volume(wiring, world.reading, word)
        usage = world.volume(host, word)
        request = recipe.extraction_request(world, corpus=corpus, tokens=tokens, layout=layout)
        made = plan_next_extraction(world, host, request, usage)
    answer_plan(wiring, host, made, usage, out=out, reserve=reserve)


@plan.command("training", changes=if_given("out", "reserve"))
@click.option("--hidden-states", type=ARTIFACT, help="The hidden states it reads.")
@click.option("--tokens", type=TOKENS, help="How many tokens it reads, all epochs together.")
@click.option("--draft-params", type=PARAMETERS, required=True, help="Parameters of the draft model, such as 2.6B.")
@click.option("--keep", type=click.IntRange(min=1), default=3, show_default=True, help="How many checkpoints stay.")
@volume_option
@reserve_option
@out_option
@pass_wiring
def training(
    wiring: Wiring,
    hidden_states: str | None,
    tokens: int | None,
    draft_params: int,
    keep: int,
    volume: str | None,
    out: bytes | None,
    *,
    reserve: bool,
) -> None:
    """Plan a training run: checkpoints kept, the one being written, the export."""
    from artifactctl.capacity.plans import TrainingRequest
    from artifactctl.inventory.planning_capacity import plan_next_training

    with planning_world(wiring) as world:
        word = wiring.volume_word(volume)
        host = host_of_volume(wiring, world.reading, word)
        usage = world.volume(host, word)
        seen = world.tokens_of(hidden_states) if hidden_states else tokens
        request = TrainingRequest(draft_parameters=draft_params, keep=keep, tokens=seen)
        made = plan_next_training(world, host, request, usage)
    answer_plan(wiring, host, made, usage, out=out, reserve=reserve)


@plan.command("running", changes=if_given("out"))
@click.argument("path", type=PLACE, metavar="PATH|HOST:PATH")
@click.option("--tokens", type=TOKENS, help="How many tokens the whole job writes.")
@click.option("--bytes", "size", type=SIZE, help="How much the whole job writes, such as 900GiB.")
@click.option("--watch", type=DURATION, default="10s", show_default=True, help="How long to watch it write.")
@recipe_options
@out_option
@pass_wiring
def running(
    wiring: Wiring,
    path: str,
    tokens: int | None,
    size: int | None,
    watch: timedelta,
    recipe: RecipeChoices,
    out: bytes | None,
) -> None:
    """Plan for a job that is already writing below PATH, whoever's it is."""
    from artifactctl.cli.plan_answers import answer_running
    from artifactctl.inventory.planning_capacity import plan_running_job
    from artifactctl.inventory.tree_growth import watch_growth

    if (size is None) == (tokens is None):
        raise UsageError(
            "say how much the whole job writes, either way", remedy="give --tokens 87.8M or --bytes 900GiB"
        )
    host, folder = spot_of(wiring, path)
    now = host.now if host.identify().elsewhere else wiring.now  # file times are compared with their machine's clock
    growth = watch_growth(host, folder, watch=watch, now=now, pause=time.sleep)
    with planning_world(wiring) as world:
        whole = size if size is not None else recipe.whole_bytes(world, tokens=tokens or 0)
        made = plan_running_job(world, host, growth, folder, whole_bytes=whole, whole_tokens=tokens)
    answer_running(wiring, made, growth, out=out)


@plan.command("pipeline")
@click.argument("file", type=PATH)
@pass_wiring
def pipeline(wiring: Wiring, file: bytes) -> None:
    """Plan several stages from one TOML file: the peak over time."""
    from artifactctl.cli.plan_answers import answer_pipeline, read_toml
    from artifactctl.domain.text import display_path
    from artifactctl.inventory.planning_capacity import plan_pipeline_file

    document = read_toml(file)
    with planning_world(wiring) as world:
        plans, spans = plan_pipeline_file(
            world,
            document,
            source=display_path(file),
            host_of=lambda word: host_of_volume(wiring, world.reading, word),
        )
    answer_pipeline(wiring, plans, spans)
