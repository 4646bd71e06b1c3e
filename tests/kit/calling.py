"""The engine over a fake forge: everything between a workflow's action and the forge's HTTP is real; one clock."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from config.load import load
from connectors.fake_forge.running import FakeForge, Setup, running
from dispatcher.wiring import Wiring
from engine.api import LaunchRequest, ResumeRequest
from engine.ports import Clock
from engine.run import EffectRecord, RunRecord
from tests.kit.ids import CountingIds

CONFIG = """
boards: [{{name: own, kind: native}}]
connections:
  web: {{kind: {kind}, url: "{url}", repo: {repo}, token: $TOKEN, allow_private: true}}
"""


class ForgeRig:
    """A store, an engine and a connection called ``web``."""

    def __init__(self, folder: Path, clock: Clock, forge: FakeForge) -> None:
        self.folder, self.forge, self.clock = folder, forge, clock
        (folder / "pointsman.yaml").write_text(CONFIG.format(kind=forge.kind, url=forge.url, repo=forge.repo))
        self._open()

    def _open(self) -> None:
        settings = load(self.folder / "pointsman.yaml", {"TOKEN": self.forge.token})
        store = self.folder / "store"
        self.wiring = Wiring(settings, store_dir=store, store_url=f"sqlite:///{store / 'p.db'}")
        self.wiring.clock, self.wiring.ids = self.clock, CountingIds()

    def call(self, suffix: str, run_id: str = "r1", **params: object) -> RunRecord:
        """Run a workflow of one node that makes this call; ``pull`` is said as the forge says it."""
        noun, verb = suffix.split(".")
        noun = "merge_request" if noun == "pull" and self.forge.kind == "gitlab" else noun
        lines = "\n".join(f"    {name}: {_literal(value)}" for name, value in params.items())
        node = f"{self.forge.kind}.{noun}.{verb}"
        text = (
            f"tool act:\n  action: {node}\n  connection: web\n  params:\n{lines}\n\n"
            "workflow w:\n  entry: act\n  act -> done\n"
        )
        path = self.folder / "main.bot"
        path.write_text(text)
        workspace = self.folder / "work"
        workspace.mkdir(exist_ok=True)
        return self.wiring.engine.launch(LaunchRequest(path, workspace, run_id=run_id))

    def resume(self, run_id: str = "r1", *, attended: bool = False) -> RunRecord:
        """The next attempt: a machine's, or a person's."""
        return self.wiring.engine.resume(ResumeRequest(run_id, attended=attended))

    def output(self, run_id: str = "r1") -> Mapping[str, Any]:
        """What the node answered."""
        outputs: Mapping[str, Any] = self.wiring.engine.inspect(run_id).outputs["act"]
        return outputs

    def rows(self) -> list[EffectRecord]:
        """Every effect, oldest first."""
        return list(self.wiring.store.effects.list())

    def row(self) -> EffectRecord:
        """The newest effect."""
        return self.rows()[-1]

    def writes(self) -> list[str]:
        """The operations of the changes that the forge was asked for."""
        return [each["operation"] for each in self.forge.requests() if each["method"] != "GET"]

    def comments(self, number: int) -> list[Any]:
        """The comments of a card, without the forge's own notes."""
        return [each for each in self.forge.card(number).comments if not each.system]

    def close(self) -> None:
        """Give everything back."""
        self.wiring.close()


def _literal(value: object) -> str:
    """A value as the language writes it; a list as its JSON in backticks, where nothing is escaped."""
    return f"`{json.dumps(value)}`" if isinstance(value, list) else json.dumps(value)


@contextmanager
def rig_over(kind: str, folder: Path, clock: Clock) -> Iterator[ForgeRig]:
    """A rig over a fake forge of that kind, both on the same clock."""
    with running(kind, Setup(clock=clock)) as forge:
        rig = ForgeRig(folder, clock, forge)
        yield rig
        rig.close()
