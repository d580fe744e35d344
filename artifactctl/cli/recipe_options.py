"""The options that say which hidden states of which model are kept."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from artifactctl.cli.options import LAYERS

if TYPE_CHECKING:
    from artifactctl.capacity.plans import ExtractionRequest
    from artifactctl.inventory.planning_capacity import PlanningWorld


@dataclass(frozen=True, slots=True, kw_only=True)
class RecipeChoices:
    """What the recipe options said; None where nothing was said."""

    model: str | None
    layers: tuple[int, ...] | None
    final_state: str
    dtype: str
    codec: str

    def extraction_request(
        self, world: "PlanningWorld", *, corpus: str | None, tokens: int | None, layout: str
    ) -> "ExtractionRequest":
        """Return the request for a corpus, or for a number of tokens."""
        from artifactctl.capacity import recipes
        from artifactctl.capacity.plans import ExtractionRequest
        from artifactctl.capacity.presets import DEFAULT_PRESET
        from artifactctl.inventory.planning_capacity import model_shape

        shape = model_shape(self.model or DEFAULT_PRESET)
        recipe = recipes.ExtractionRecipe(
            shape=shape,
            layers=self.layers or shape.default_boundaries,
            final_state=recipes.FinalState(self.final_state),
            element=recipes.parse_element_type(self.dtype),
            codec=recipes.Codec(self.codec),
        )
        layouts = {"packed": recipes.PACKED, "specforge": recipes.SPECFORGE, "speculators": recipes.SPECULATORS}
        counted, records = world.counts_of(corpus) if corpus is not None else (tokens or 0, None)
        return ExtractionRequest(recipe=recipe, tokens=counted, layout=layouts[layout], records=records)

    def whole_bytes(self, world: "PlanningWorld", *, tokens: int) -> int:
        """Return what a job that extracts so many tokens leaves on disk."""
        from artifactctl.capacity.plans import demand_of_extraction

        request = self.extraction_request(world, corpus=None, tokens=tokens, layout="packed")
        demand, _, _ = demand_of_extraction(request, runs=world.runs())
        return demand.final_bytes


def recipe_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options and hand their values over as one `recipe`."""

    def call(
        *arguments: Any,
        model: str | None,
        layers: tuple[int, ...] | None,
        final_state: str,
        dtype: str,
        codec: str,
        **options: Any,
    ) -> Any:
        recipe = RecipeChoices(model=model, layers=layers, final_state=final_state, dtype=dtype, codec=codec)
        return command(*arguments, recipe=recipe, **options)

    call.__doc__ = command.__doc__
    call.__name__ = command.__name__
    call.__click_params__ = list(getattr(command, "__click_params__", ()))  # type: ignore[attr-defined]
    for option in reversed(_OPTIONS):
        call = option(call)
    return call


_OPTIONS = (
    click.option(
        "--model",
        metavar="PRESET|PATH",
        help="A preset, or a model's folder, config.json or GGUF (default: kimi-k2.5).",
    ),
    click.option("--layers", type=LAYERS, help="Layers to keep, such as 2,30,58 (default: the usual three)."),
    click.option(
        "--final-state",
        type=click.Choice(["none", "pre", "post"]),
        default="none",
        show_default=True,
        help="Keep the last hidden state too, before or after the final norm.",
    ),
    click.option(
        "--dtype", default="bf16", show_default=True, help="How one channel is stored: bf16, fp16, fp32, fp8."
    ),
    click.option(
        "--codec", type=click.Choice(["none", "planes"]), default="none", show_default=True, help="Lossless coding."
    ),
)

layout_option = click.option(
    "--layout",
    type=click.Choice(["packed", "specforge", "speculators"]),
    default="packed",
    show_default=True,
    help="How the states are laid out in files.",
)
