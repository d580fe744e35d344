"""What a run refuses before its first step: each says what does not fit and what to type."""

import pytest

from artifactctl.domain.artifacts import ArtifactKind
from artifactctl.domain.errors import ArtifactctlError, CheckFailed, Refused, UsageError
from tests.train.site import Site
from tests.train.tiny import USED, VOCABULARY, target_folder
from train.settings import read_settings


def refusal(site: Site, kind: type[ArtifactctlError] = Refused, **wanted: object) -> str:
    """Return what the refused run said, message and remedy; nothing may have been written."""
    with pytest.raises(kind) as caught:
        site.train(**wanted)  # type: ignore[arg-type]  # settings are any
    assert caught.value.remedy
    return f"{caught.value}\n{caught.value.remedy}"


def test_states_that_were_never_verified_are_refused(site: Site) -> None:
    site.add_states("fresh", verified=False)
    assert "fresh was never verified\nartifactctl verify fresh" in refusal(site, states="fresh")


def test_states_that_changed_since_they_were_verified_are_refused(site: Site) -> None:
    shard = next((site.root / "states").glob("shard-*"))
    shard.write_bytes(shard.read_bytes())
    assert "states was changed since it was verified\nartifactctl verify states" in refusal(site, CheckFailed)


def test_superseded_states_are_refused_with_their_successor(site: Site) -> None:
    site.add_states("better")
    site.command("register", str(site.root / "better"), "--kind", "hidden_states", "--supersedes", "states")
    assert "states is superseded by better\nuse better" in refusal(site)


def test_states_of_a_superseded_corpus_are_refused_as_stale(site: Site) -> None:
    for name in ("corpus", "corpus2"):
        (site.root / name).mkdir()
        (site.root / name / "data.jsonl").write_text("{}\n")
        site.register(site.root / name, ArtifactKind.MERGED_CORPUS, verified=False)
    site.command("link", "states", "--input", "corpus:extracted_from")
    site.command("register", str(site.root / "corpus2"), "--kind", "merged_corpus", "--supersedes", "corpus")

    said = refusal(site)

    assert "states is stale: it was made from corpus, which is superseded by corpus2" in said
    assert "make it again from corpus2" in said


def test_layers_that_dump_and_settings_name_differently_are_refused(site: Site) -> None:
    said = refusal(site, layers=(1, 2, 3))
    assert "the layers of states are in doubt: the dump says [2, 4, 5]" in said
    assert "the settings says [1, 2, 3]" in said


def test_a_map_of_another_vocabulary_is_refused_with_both_sizes(site: Site) -> None:
    site.add_map("wide", size=VOCABULARY + 20)
    assert f"wide maps a vocabulary of {VOCABULARY + 20}" in refusal(site, vocab_map="wide")


def test_a_map_whose_content_is_not_the_catalogued_one_is_refused(site: Site) -> None:
    site.add_map("other", used=tuple(each + 1 for each in USED), labels={"content": "0" * 64})
    said = refusal(site, CheckFailed, vocab_map="other")
    assert "other is not the map that was catalogued" in said
    assert "artifactctl verify other" in said


def test_a_target_with_other_weights_than_the_states_say_is_refused(site: Site) -> None:
    target_folder(site.target, seed=1)
    assert "states was extracted from tiny, whose weights are not those of" in refusal(site)


def test_a_run_that_is_resumed_with_other_settings_is_refused_with_the_difference(site: Site) -> None:
    site.train(steps=2)
    assert "learning rate 0.02 here, 0.01 there" in refusal(site, resume=True, steps=2, learning_rate=0.02)


def test_a_folder_with_checkpoints_is_refused_without_resume(site: Site) -> None:
    site.train(steps=2)
    assert "run has checkpoints already\ngive --resume, or another --out" in refusal(site, steps=2)


def test_an_unknown_key_of_a_settings_file_is_refused_with_the_nearest(site: Site) -> None:
    with pytest.raises(UsageError, match="nothing is called `learning_rat`") as caught:
        read_settings(site.settings_file(learning_rat=1), steps=None)
    assert "learning_rate" in str(caught.value.remedy)
