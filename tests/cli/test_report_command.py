"""`report`: a page about a real catalog, with a name that would like to be more than a name; nothing is changed."""

import json
import os

HOSTILE = '</script><img src="x" onerror="alert(1)">'


def entries(folder):
    return sorted((path, sorted(files)) for path, _, files in os.walk(folder))


def test_a_hostile_name_in_a_real_catalog_stays_text(stocked):
    (stocked.volume / "more").mkdir()
    (stocked.volume / "more" / "data.bin").write_bytes(b"x")
    named = stocked.run("register", str(stocked.volume / "more"), "--kind", "other", "--name", HOSTILE)
    assert named.exit_code == 0, named.output

    done = stocked.run("report", "--out", str(stocked.folder / "stock.html"))

    assert (done.exit_code, done.stdout) == (0, "")
    page = (stocked.folder / "stock.html").read_text(encoding="utf-8")
    assert "&lt;/script&gt;&lt;img src=&quot;x&quot; onerror=&quot;alert(1)&quot;&gt;" in page
    assert "<img" not in page
    assert "<script" not in page


def test_the_report_says_of_each_artifact_what_why_says(stocked):
    prospects = json.loads(stocked.run("report", "--json").stdout)["prospects"]

    assert {item["name"] for item in prospects} == {
        f"scratch/{name}" for name in ("corpus", "hs-old", "hs-new", "map", "checkpoint")
    }
    for item in prospects:
        answer = json.loads(stocked.run("why", item["name"], "--json").stdout)
        assert item["may_go"] == answer["may_go"]
        assert [e["guard"] for e in item["evidence"]] == [e["guard"] for e in answer["evidence"]]


def test_the_summary_names_the_largest_and_its_lineage_is_on_the_page(stocked):
    text = stocked.run("report").stdout
    stocked.run("report", "--out", str(stocked.folder / "stock.html"))
    page = (stocked.folder / "stock.html").read_text(encoding="utf-8")

    assert "scratch/hs-old" in text
    assert "└─ scratch/checkpoint" in page


def test_reporting_changes_neither_the_volume_nor_the_audit_log(stocked):
    before = entries(stocked.volume), stocked.run("audit", "ls", "--json").stdout

    stocked.run("report")
    stocked.run("report", "--out", str(stocked.folder / "stock.html"))

    assert (entries(stocked.volume), stocked.run("audit", "ls", "--json").stdout) == before
