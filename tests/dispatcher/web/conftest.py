"""A listener on a real port over a real store; the daemon behind it is a door that notes what it is asked."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from config.settings import Settings
from dispatcher.metrics import Metrics
from dispatcher.web.backstage import Backstage
from dispatcher.web.server import Listener, WebServer
from dispatcher.wiring import Wiring
from engine.api import ResumeRequest


class NotingDoor:
    """A daemon that never ticks: it remembers, and executes what it is given in a thread."""

    def __init__(self) -> None:
        self.reasons: list[str] = []
        self.asked: list[tuple[str, ...]] = []
        self.document: dict[str, object] = {"name": "test", "ready": True, "slots": {"used": 0, "max": 4}}
        self.threads: list[threading.Thread] = []
        self.busy = 0
        """So often a card's slot is used still."""
        self.wiring: Wiring | None = None

    def state(self) -> dict[str, object]:
        return self.document

    def not_ready(self) -> list[str]:
        return self.reasons

    def refresh(self, source: str) -> None:
        self.asked.append(("refresh", source))

    def desire(self, state: str, by: str) -> None:
        self.asked.append(("desire", state, by))

    def reload(self) -> None:
        self.asked.append(("reload",))

    def execute(self, run_id: str, work: Callable[[], None]) -> bool:
        if self.busy:
            self.busy -= 1
            return False
        self.threads.append(threading.Thread(target=work, name=run_id))
        self.threads[-1].start()
        return True

    def take_up(self, request: ResumeRequest) -> None:
        assert self.wiring is not None
        self.wiring.engine.resume(request)


@pytest.fixture
def door() -> NotingDoor:
    return NotingDoor()


@pytest.fixture
def wiring(tmp_path: Path) -> Iterator[Wiring]:
    store = tmp_path / ".pointsman"
    made = Wiring(Settings(), store_dir=store, store_url=f"sqlite:///{store / 'pointsman.db'}")
    yield made
    made.close()


@pytest.fixture
def backstage(wiring: Wiring, door: NotingDoor) -> Iterator[Backstage]:
    door.wiring = wiring
    yield Backstage(wiring, door, Metrics("0"))
    for thread in door.threads:
        thread.join(30)


@pytest.fixture
def server(backstage: Backstage) -> Iterator[WebServer]:
    made = WebServer(Listener("127.0.0.1", 0), backstage)
    made.start()
    yield made
    made.stop()


@pytest.fixture
def client(server: WebServer) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=f"http://127.0.0.1:{server.port}", trust_env=False, timeout=20) as made:
        yield made
