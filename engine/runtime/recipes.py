"""The recipe of a run: a launch configuration over a workflow that stays as it is (language.md 13).

Called by ``launch``, which keeps a copy with the run, and by every resume, which reads that copy: the prompts and
values of a run do not change under it. ``evaluation_policy`` is kept with the copy and has no effect here.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from engine.dsl.durations import DurationError, parse_duration
from engine.dsl.graph import Graph
from engine.errors import BadInput
from engine.run import Attachment, BudgetAsk
from engine.runtime.host import Host

if TYPE_CHECKING:
    from engine.dsl.recipes import Recipe

KEPT = "recipe.json"
"""The name under which a run keeps its recipe; no attachment of a workflow can be called that."""
ORIGIN = "recipe"
CAPS = ("max_cost_usd", "max_tokens", "max_duration", "max_iterations", "max_parallel_branches")


def read(path: Path) -> Recipe:
    """The recipe at ``path``. Raises BadInput for one that cannot be read or is malformed."""
    from engine.dsl.recipes import read_recipe

    try:
        recipe = read_recipe(path)
    except OSError as problem:
        raise BadInput(f"the recipe {path} cannot be read: {problem.strerror}", "check the path") from problem
    if recipe.flaws:
        flaw = recipe.flaws[0]
        key = f"`{flaw.key}` " if flaw.key else "it "
        raise BadInput(f"the recipe {path}: {key}cannot be {flaw.found}", f"write {flaw.expected}")
    ask_of(recipe)
    return recipe


def ask_of(recipe: Recipe) -> BudgetAsk:
    """The caps of a recipe. Raises BadInput for one that is no cap, or that a launch cannot set."""
    made: dict[str, float] = {}
    for key, value in recipe.map("budget").items():
        place = f"the recipe {recipe.file}: `budget.{key}`"
        if key not in CAPS:
            raise BadInput(f"{place} cannot be set by a recipe", f"set one of {', '.join(CAPS)}")
        try:
            made[key] = parse_duration(value) if key == "max_duration" and isinstance(value, str) else _number(value)
        except (DurationError, ValueError) as problem:
            raise BadInput(
                f"{place} cannot be {value!r}", 'write a number, for a duration a text such as "10m"'
            ) from problem
    whole = {key: int(value) for key, value in made.items() if key not in ("max_cost_usd", "max_duration")}
    return BudgetAsk(**{**made, **whole})  # type: ignore[arg-type]


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
        raise ValueError(value)
    return value


def check_recipe(recipe: Recipe, graph: Graph) -> None:
    """Refuse a recipe that is for another workflow. Raises BadInput."""
    wanted = recipe.map("workflow_ref").get("name")
    if wanted and wanted != graph.workflow:
        text = f"the recipe {recipe.name} is for workflow {wanted}, not for {graph.workflow}"
        raise BadInput(text, "launch that workflow, or take `workflow_ref` out of the recipe")


def keep(host: Host, recipe: Recipe, run_id: str) -> Attachment:
    """The copy of a recipe in the run's folder; its row goes with the launch. Raises StoreFull."""
    return host.store.attachments.copy(run_id, recipe.file, KEPT, ORIGIN)


def kept(host: Host, run_id: str) -> Recipe | None:
    """The recipe of a stored run. Raises BadInput when its copy is gone."""
    for each in host.store.attachments.all(run_id):
        if (each.name, each.origin) == (KEPT, ORIGIN):
            return read(Path(each.path))
    return None
