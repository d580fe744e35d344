"""`init`, `ls`, `show`, `lineage`: what a person sees and what a script reads."""

import json

import pytest

from artifactctl.domain.artifacts import ReplicaState
from tests.cli.stock import MIB


def payload(result):
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_init_makes_the_catalog_once(shop):
    first, second = shop.run("init", "--json"), shop.run("init", "--json")

    assert payload(first)["outcome"] == "created"
    assert payload(second)["outcome"] == "unchanged"
    assert payload(first)["catalog"] == str(shop.location)
    assert [event["action"] for event in payload(shop.run("audit", "ls", "--json"))["events"]] == ["catalog.create"]


def test_without_a_catalog_a_command_says_how_to_make_one_and_makes_none(shop):
    refused = shop.run("ls")

    assert refused.exit_code == 2
    assert f"there is no catalog at {shop.location}" in refused.stderr
    assert "artifactctl init" in refused.stderr
    assert not shop.location.exists()


def test_yes_makes_the_catalog_on_the_way(shop):
    assert shop.run("ls", "--yes").exit_code == 0
    assert shop.location.is_file()


def test_a_file_that_is_no_catalog_is_left_alone(shop):
    shop.location.parent.mkdir(parents=True)
    shop.location.write_text("my diary, do not touch\n" * 100)

    refused = shop.run("ls", "--yes")

    assert refused.exit_code in (1, 2)
    assert "Traceback" not in refused.stderr
    assert shop.location.read_text().startswith("my diary")


def test_ls_names_every_field_that_scripts_rely_on(stocked):
    listed = payload(stocked.run("ls", "--json"))

    assert listed["schema"] == "artifactctl.ls/1"
    old = next(entry for entry in listed["artifacts"] if entry["name"] == "scratch/hs-old")
    assert old["host"] == stocked.host.identify().hostname
    assert {key: old[key] for key in ("kind", "state", "superseded_by", "path", "holds", "leases", "tokens")} == {
        "kind": "hidden_states",
        "state": "live",
        "superseded_by": "scratch/hs-new",
        "path": str(stocked.volume / "hs-old"),
        "holds": 0,
        "leases": 0,
        "tokens": 23_070_000,
    }
    assert old["allocated_bytes"] == old["apparent_bytes"] == 3 * MIB
    assert (old["files"], old["records"], old["verified_level"]) == (1, None, "headers")
    assert old["created_at"] == old["verified_at"] == "2026-11-30T12:00:00Z"


def test_ls_for_a_person_is_one_line_an_artifact(stocked):
    lines = stocked.run("ls", "--sort", "size").stdout.splitlines()

    assert lines[0].split() == ["name", "kind", "state", "size", "tokens", "created", "verified", "notes"]
    assert " ".join(lines[1].split()) == (
        "scratch/hs-old hidden_states live 3.00 MiB 23.07 M 2026-11-30 headers 2026-11-30 superseded by scratch/hs-new"
    )
    assert lines[-1] == "5 artifacts, 8.00 MiB"


def test_ls_by_kind_and_by_state(stocked):
    assert [a["name"] for a in payload(stocked.run("ls", "--kind", "vocab_map", "--json"))["artifacts"]] == [
        "scratch/map"
    ]
    assert payload(stocked.run("ls", "--state", "quarantined", "--json"))["artifacts"] == []


def test_what_is_gone_is_counted_in_text_and_listed_in_json(stocked):
    catalog = stocked.open()
    with catalog.writing("test", stocked.clock.now()) as writing:
        old = writing.artifact("scratch/hs-old")
        for to in (ReplicaState.QUARANTINING, ReplicaState.QUARANTINED, ReplicaState.PURGING, ReplicaState.GONE):
            writing.change_state(old.replicas[0].replica_id, expected=tuple(ReplicaState), to=to)
    catalog.close()

    text = stocked.run("ls").stdout

    assert "scratch/hs-old" not in text.replace("superseded by scratch/hs-old", "")
    assert "one more is only remembered; `artifactctl ls --state gone` shows it" in text
    assert "scratch/hs-old" in stocked.run("ls", "--state", "gone").stdout
    assert len(payload(stocked.run("ls", "--json"))["artifacts"]) == 5


@pytest.mark.parametrize("word", ["scratch/hs-old", "hs-old", "./hs-old/", "../volume/hs-old"])
def test_an_artifact_is_found_by_its_name_and_by_its_path(stocked, word):
    assert payload(stocked.run("show", word, "--json"))["name"] == "scratch/hs-old"


def test_an_unknown_name_is_an_error_that_offers_the_nearest(stocked):
    refused = stocked.run("show", "scratch/hs-odl")

    assert refused.exit_code == 2
    assert refused.stderr == (
        "error: the catalog knows no artifact `scratch/hs-odl`, by name or by path\n"
        "hint: did you mean `scratch/hs-old`?\n"
    )


@pytest.mark.parametrize("word", ["", "a\nb", "-rf"])
def test_a_word_that_cannot_be_a_name_is_a_usage_error(stocked, word):
    refused = stocked.run("show", word)

    assert refused.exit_code == 2
    assert refused.stderr.startswith("error: ")


def test_show_says_what_it_hangs_on(stocked):
    shown = payload(stocked.run("show", "scratch/hs-old", "--json"))

    assert shown["parents"] == [{"name": "scratch/corpus", "role": "extracted_from"}]
    assert {"name": "scratch/checkpoint", "role": "trained_on"} in shown["children"]
    assert shown["runs"][0]["duration_seconds"] == 68_400
    text = stocked.run("show", "scratch/hs-old").stdout
    assert "superseded by  scratch/hs-new" in text
    assert "made from  scratch/corpus      extracted_from" in text


def test_lineage_is_a_tree_both_ways(stocked):
    assert stocked.run("lineage", "scratch/checkpoint").stdout.splitlines() == [
        "scratch/checkpoint  checkpoint, live, 1.00 MiB",
        "made from",
        "  ├─ scratch/hs-old  hidden_states, live, 3.00 MiB  [trained_on]",
        "  │  └─ scratch/corpus  merged_corpus, live, 1.00 MiB  [extracted_from]",
        "  └─ scratch/map  vocab_map, live, 1.00 MiB  [mapped_with]",
        "used for: nothing recorded",
    ]
    assert "used for" not in stocked.run("lineage", "scratch/checkpoint", "--up").stdout


def test_lineage_can_be_drawn_by_others(stocked):
    dot = stocked.run("lineage", "scratch/checkpoint", "--format", "dot").stdout
    mermaid = stocked.run("lineage", "scratch/checkpoint", "--format", "mermaid").stdout

    assert dot.startswith("digraph lineage {")
    assert 'label="trained_on"' in dot
    assert mermaid.startswith("flowchart TD")
    assert "-->|mapped_with|" in mermaid


def test_the_shell_completes_names(stocked, artifactctl):
    done = artifactctl(
        extra={
            "_ARTIFACTCTL_COMPLETE": "bash_complete",
            "COMP_WORDS": f"artifactctl show --catalog {stocked.location} scratch/hs",
            "COMP_CWORD": "4",
        }
    )

    assert done.stdout == "plain,scratch/hs-new\nplain,scratch/hs-old\n"
