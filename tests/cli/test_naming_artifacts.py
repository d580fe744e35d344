"""Every command that takes an artifact takes the same words for it: its name, its path, and what was perhaps meant."""

import pytest

ASKING = [
    ("show", "{}"),
    ("lineage", "{}"),
    ("why", "{}"),
    ("verify", "{}"),
    ("audit", "ls", "--artifact", "{}"),
    ("hold", "add", "{}", "--reason", "for the paper"),
    ("link", "{}", "--input", "corpus"),
    ("link", "hs-new", "--input", "{}:resumed_from"),
    ("supersede", "{}", "--by", "hs-new"),
    ("record", "{}", "--metric", "accept_len=2.1"),
    ("plan", "extraction", "--corpus", "{}", "--volume", "scratch"),
    ("scan", "--accept", "{}"),
]


@pytest.mark.parametrize("words", ASKING, ids=" ".join)
def test_a_word_that_means_nothing_is_answered_with_what_was_perhaps_meant(stocked, words):
    refused = stocked.run(*(word.replace("{}", "hs-odl") for word in words))

    assert refused.exit_code == 2, refused.output
    assert "`scratch/hs-old`" in refused.stderr


@pytest.mark.parametrize("words", ASKING, ids=" ".join)
@pytest.mark.parametrize("word", ["hs-old", "./hs-old", "scratch/hs-old"])
def test_a_name_and_a_path_from_the_working_directory_mean_the_same_artifact(stocked, words, word):
    answer = stocked.run(*(part.replace("{}", word) for part in words))

    assert "knows no artifact" not in answer.output
    assert "no artifact is catalogued" not in answer.output


def test_a_path_at_which_nothing_is_catalogued_says_how_to_look(stocked):
    refused = stocked.run("show", "./nowhere")

    assert refused.exit_code == 2
    assert f"no artifact is catalogued at {stocked.volume}/nowhere" in refused.stderr
    assert f"artifactctl scan {stocked.volume}/nowhere" in refused.stderr


def test_an_address_in_brackets_is_told_from_a_name(stocked):
    unknown = stocked.run("reclaim", "[::1]:/x", "--dry-run")
    catalog = stocked.open()
    with catalog.writing("arranger@test", stocked.clock.now()) as writing:
        writing.add_host("far", machine_id="m", address="ssh://ada@[::1]:22", host_key="SHA256:x")
    catalog.close()
    known = stocked.run("reclaim", "[::1]:/x", "--dry-run")

    assert (unknown.exit_code, known.exit_code) == (2, 2)
    assert "`[::1]` is an address" in unknown.stderr
    assert "artifactctl host ls" in unknown.stderr
    assert "write far:/PATH" in known.stderr
