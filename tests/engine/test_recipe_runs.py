"""Runs that are launched with a recipe: values, prompts, caps; kept with the run (language.md 13)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from engine.errors import BadInput, InvalidVars, SourceInvalid
from engine.states import RunStatus
from tests.kit.cli import pointsman
from tests.kit.engine import Rig

WORK = """
vars:
  who: string = "world"
  n: int = 1
  m: int = 1
presets:
  loud:
    m: 5
schema answer:
  ok: bool
prompt question:
  Shall we, {{vars.who}}?
human gate:
  instructions: question
  output: answer
compute sums:
  expr:
    who: "vars.who"
    n: "vars.n"
    m: "vars.m"
    cap: "run.max_iterations"
workflow w:
  budget:
    max_iterations: 9
  entry: gate
  gate -> sums -> done
"""


def recipe(folder: Path, **values: Any) -> Path:
    path = folder / "fast.json"
    path.write_text(json.dumps(values))
    return path


def test_a_recipe_gives_values_prompts_and_caps(engine: Rig) -> None:
    """4.1, 13: values below --var and --preset, prompts in the place of the workflow's, caps below the flags."""
    path = recipe(
        engine.folder,
        name="fast",
        workflow_ref={"name": "w"},
        preset_vars={"who": "you", "n": 2, "m": 2},
        prompt_pack={"question": "Quick: {{vars.who}}?"},
        budget={"max_iterations": 20, "max_duration": "10m"},
        evaluation_policy={"primary_metric": "ok", "success_value": True},
    )
    engine.run(WORK, recipe=path, vars={"n": "3"}, preset="loud")
    pending = engine.head().pending
    assert pending is not None
    assert pending.instructions == "Quick: you?"
    path.unlink()
    assert engine.resume(texts={"ok": "yes"}).status == RunStatus.FINISHED
    assert engine.outputs()["sums"] == {"who": "you", "n": 3, "m": 5, "cap": 20}
    assert engine.store.runs.get("r1").ask.max_duration == 600


def test_a_cap_of_the_command_wins(engine: Rig) -> None:
    path = recipe(engine.folder, budget={"max_iterations": 20})
    engine.run(WORK, recipe=path, ask={"max_iterations": 30})
    engine.resume(texts={"ok": "yes"})
    assert engine.outputs()["sums"]["cap"] == 30


def test_a_run_of_the_same_file_without_the_recipe_is_as_written(engine: Rig) -> None:
    engine.run(WORK, recipe=recipe(engine.folder, prompt_pack={"question": "Other?"}))
    engine.run(WORK, "r2")
    pending = engine.head("r2").pending
    assert pending is not None
    assert pending.instructions == "Shall we, world?"
    assert engine.store.runs.get("r1").digest == engine.store.runs.get("r2").digest


@pytest.mark.parametrize(
    ("values", "kind", "said"),
    [
        ({"workflow_ref": {"name": "other"}}, BadInput, "is for workflow other, not for w"),
        ({"preset_vars": {"whom": "x"}}, InvalidVars, "whom is not declared"),
        ({"preset_vars": {"n": "many"}}, InvalidVars, "var n"),
        ({"prompt_pack": {"questions": "x"}}, SourceInvalid, "no prompt is called `questions`"),
        ({"budget": {"max_tokens": -1}}, BadInput, "`budget.max_tokens` cannot be -1"),
        ({"budget": {"max_duration": "soon"}}, BadInput, "`budget.max_duration` cannot be 'soon'"),
        ({"budget": {"on_exceeded": "pause"}}, BadInput, "cannot be set by a recipe"),
        ({"prompts": {}}, BadInput, "`prompts` cannot be"),
    ],
)
def test_a_recipe_that_does_not_fit_makes_no_run(
    engine: Rig, values: dict[str, Any], kind: type[Exception], said: str
) -> None:
    with pytest.raises(kind) as refused:
        engine.run(WORK, recipe=recipe(engine.folder, **values))
    assert said in str(refused.value)
    assert engine.store.runs.list().records == ()


def test_the_command_line_launches_with_a_recipe(tmp_path: Path) -> None:
    (tmp_path / "main.bot").write_text(WORK.replace("entry: gate\n  gate -> sums", "entry: sums\n  sums"))
    text = (tmp_path / "main.bot").read_text().replace("human gate:\n  instructions: question\n  output: answer\n", "")
    (tmp_path / "main.bot").write_text(text)
    recipe(tmp_path, preset_vars={"who": "you"}, budget={"max_iterations": 4})
    answer = pointsman(tmp_path, "run", "main.bot", "--recipe", "fast.json", "--json")
    assert answer.document["outputs"]["sums"] == {"who": "you", "n": 1, "m": 1, "cap": 4}
