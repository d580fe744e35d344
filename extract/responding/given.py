"""The words of the command as one value, and what they mean together."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

from artifactctl.domain.errors import UsageError
from extract.credentials import Key, chosen_key, is_open_to_others
from extract.merging.sources import Source
from extract.responding.endpoint import endpoint_of
from extract.responding.patience import Patience
from extract.responding.settings import Settings, further_fields
from extract.responding.spending import Prices
from extract.responding.wanting import Wanted


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """Every option under the name that the command gives it."""

    prompts: tuple[str, ...]
    more_prompts: tuple[str, ...]
    server: str
    model: str
    out: Path
    concurrency: int
    max_tokens: int
    budget_tokens: int | None
    key_file: Path | None
    key_env: str | None
    temperature: float | None
    top_p: float | None
    seed: int | None
    extra_body: Path | None
    attempts: int
    timeout: timedelta
    prompt_price: Decimal | None
    answer_price: Decimal | None
    accept_holes: bool
    name: str

    @property
    def words(self) -> tuple[str, ...]:
        """The prompts that were named; UsageError when none were."""
        if not self.prompts + self.more_prompts:
            raise UsageError("no prompts were named", remedy="name a file of prompts, such as prompts.jsonl")
        return self.prompts + self.more_prompts

    def wanted(self, sources: Sequence[Source], environment: Mapping[str, str]) -> Wanted:
        """Return what is wanted; UsageError where the words contradict each other or mean nothing."""
        return Wanted(
            sources=tuple(sources),
            out=self.out,
            settings=self._settings(),
            endpoint=endpoint_of(self.server),
            key=self._key(environment),
            concurrency=self.concurrency,
            silence=self.timeout,
            patience=Patience(attempts=self.attempts),
            budget_tokens=self.budget_tokens,
            prices=Prices(prompt=self.prompt_price, answer=self.answer_price),
            accept_holes=self.accept_holes,
            name=self.name,
        )

    def warnings(self, wanted: Wanted) -> Iterator[str]:
        """Yield what a person should know before anything is asked."""
        if wanted.key and wanted.endpoint.is_clear:
            yield "warning: the key and the prompts can be read on the way: the address begins with http://"
        if self.key_file is not None and is_open_to_others(self.key_file):
            yield "warning: others on this machine can read the file named with --key-file (chmod 600)"

    def _settings(self) -> Settings:
        further = "{}"
        if self.extra_body is not None:
            further = further_fields(self.extra_body.read_bytes(), source=str(self.extra_body))
        return Settings(
            model=self.model,
            max_tokens=self.max_tokens,
            temperature=self.temperature,
            top_p=self.top_p,
            seed=self.seed,
            further=further,
        )

    def _key(self, environment: Mapping[str, str]) -> Key:
        return chosen_key(file=self.key_file, variable=self.key_env, environment=environment)
