"""``pointsman bots list``."""

from __future__ import annotations

from pathlib import Path

from tests.kit.cli import pointsman

GOOD = 'compute a:\n  expr:\n    x: "1"\nworkflow w:\n  entry: a\n  a -> done\n'


def catalogue(folder: Path) -> None:
    (folder / "bots/pack").mkdir(parents=True)
    (folder / "bots/plain.bot").write_text("## ---\n## version: 2\n## description: 'counts: one'\n## ---\n" + GOOD)
    (folder / "bots/broken.bot").write_text("tool a:\n  comand: `x`\n")
    (folder / "bots/bad.botz").write_bytes(b"nonsense")
    (folder / "bots/pack/main.bot").write_text(GOOD)
    (folder / "bots/pack/manifest.yaml").write_text(
        'schema_version: 1\nversion: "1.2"\ndescription: packs\nenabled: false\n'
    )


def test_the_catalogue_names_every_bot_and_what_is_wrong_with_it(tmp_path: Path) -> None:
    catalogue(tmp_path)
    bots = {bot["name"]: bot for bot in pointsman(tmp_path, "bots", "list", "--json").document["bots"]}
    assert list(bots) == ["bad", "broken", "pack", "plain"]
    assert (bots["plain"]["version"], bots["plain"]["description"]) == ("2", "counts: one")
    assert (bots["pack"]["version"], bots["pack"]["description"]) == ("1.2", "packs")
    assert (bots["pack"]["file"], bots["plain"]["file"]) == ("bots/pack", "bots/plain.bot")
    assert [bots[name]["enabled"] for name in bots] == [True, True, False, True]
    assert bots["plain"]["problems"] == bots["pack"]["problems"] == []
    assert any("E012" in each for each in bots["broken"]["problems"])
    assert "no bundle" in bots["bad"]["problems"][0]


def test_people_get_a_table_and_the_first_problem_of_each_bot(tmp_path: Path) -> None:
    catalogue(tmp_path)
    answer = pointsman(tmp_path, "bots", "list")
    assert answer.code == 0
    assert "(not enabled) packs" in answer.out
    assert "pointsman validate bots/broken.bot" in answer.out
    pack = pointsman(tmp_path, "bundle", "pack", "bots/pack")
    assert pack.code == 0
    assert "no bots" in pointsman(tmp_path / "bots", "bots", "list").out
