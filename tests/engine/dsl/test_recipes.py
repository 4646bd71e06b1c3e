"""Recipes are read and checked for their shape (language.md 13); what they do is ``test_recipe_runs.py``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.dsl.load import launch_errors, load
from engine.dsl.recipes import MOST_BYTES, read_recipe
from tests.kit.cli import pointsman

GOOD = {
    "name": "fast",
    "workflow_ref": {"name": "w", "path": "main.bot"},
    "preset_vars": {"n": 1},
    "prompt_pack": {"p": "text"},
    "budget": {"max_cost_usd": 1},
    "evaluation_policy": {"primary_metric": "ok", "success_value": True},
}


def test_a_recipe_with_all_its_keys_has_no_flaw(tmp_path: Path) -> None:
    (tmp_path / "r.json").write_text(json.dumps(GOOD))
    recipe = read_recipe(tmp_path / "r.json")
    assert (recipe.name, recipe.flaws) == ("fast", ())


@pytest.mark.parametrize(
    ("text", "key", "expected"),
    [
        ("{", "", "one JSON object"),
        ("[]", "", "one JSON object"),
        ('{"nam": "x"}', "nam", "`name`"),
        ('{"name": 1}', "name", "a text"),
        ('{"workflow_ref": {"file": "x"}}', "workflow_ref.file", "one of name, path"),
        ('{"prompt_pack": {"p": 1}}', "prompt_pack.p", "a text"),
        ('{"preset_vars": []}', "preset_vars", "a map"),
        ('{"budget": {"max_cost": 1}}', "budget.max_cost", "`max_cost_usd`"),
        (" " * MOST_BYTES + "{}", "", "a shorter recipe"),
    ],
)
def test_a_flaw_names_its_key_and_what_to_write(text: str, key: str, expected: str, tmp_path: Path) -> None:
    (tmp_path / "r.json").write_text(text)
    recipe = read_recipe(tmp_path / "r.json")
    assert recipe.name == "r" or key != "nam"
    assert [(flaw.key, flaw.expected) for flaw in recipe.flaws] == [(key, expected)]


def bundle(folder: Path, recipe: object) -> Path:
    (folder / "recipes").mkdir(parents=True)
    (folder / "manifest.yaml").write_text("schema_version: 1\n")
    (folder / "main.bot").write_text('compute a:\n  expr:\n    x: "1"\nworkflow w:\n  entry: a\n  a -> done\n')
    (folder / "recipes/fast.json").write_text(json.dumps(recipe))
    return folder


def test_a_recipe_of_a_bundle_is_no_finding(tmp_path: Path) -> None:
    loaded = load(bundle(tmp_path / "b", GOOD))
    assert loaded.diagnostics == ()
    assert launch_errors(loaded) == ()


def test_a_malformed_recipe_of_a_bundle_is_an_error(tmp_path: Path) -> None:
    loaded = load(bundle(tmp_path / "b", {"name": 1}))
    assert [found.code for found in loaded.errors] == ["E020"]


def test_a_recipe_that_does_not_fit_is_refused_before_anything_is_stored(tmp_path: Path) -> None:
    bundle(tmp_path / "b", GOOD)
    answer = pointsman(tmp_path, "run", "b", "--recipe", "b/recipes/fast.json", "--json")
    assert answer.code == 2
    assert pointsman(tmp_path, "run", "b", "--recipe", "none.json").code == 2
    (tmp_path / "bad.json").write_text("{")
    assert "JSON" in pointsman(tmp_path, "run", "b", "--recipe", "bad.json").err
    assert not (tmp_path / ".pointsman" / "runs").exists()
