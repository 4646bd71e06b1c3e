"""A daemon whose forge tells it of every change: real deliveries from the fake to a listener (connectors.md 15)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from dispatcher.daemon.inbox import Message
from dispatcher.web.backstage import Backstage
from dispatcher.web.server import Listener, WebServer
from tests.kit.forge_yard import ForgeYard

SECRET = "a-webhook-secret"


class Hooked:
    """A yard that hears. Wake-ups wait in the daemon's inbox until somebody looks."""

    def __init__(self, yard: ForgeYard) -> None:
        self.yard = yard
        path = yard.folder / "pointsman.yaml"
        path.write_text(
            path.read_text().replace("    token: $TOKEN\n", "    token: $TOKEN\n    webhook_secret: $HOOK\n")
        )
        yard.environment = {**yard.environment, "HOOK": SECRET}
        yard.again()
        self._server = self._listening()
        url = f"http://127.0.0.1:{self._server.port}/api/hooks/{yard.forge.kind}"
        proof = {"token": SECRET} if yard.forge.kind == "gitlab" else {"secret": SECRET}
        yard.forge.act("add_hook", url=url, **proof)
        self.woken()

    def _listening(self, port: int = 0) -> WebServer:
        server = WebServer(
            Listener("127.0.0.1", port), Backstage(self.yard.wiring, self.yard.daemon, self.yard.daemon.metrics)
        )
        server.start()
        return server

    def woken(self) -> int:
        """How often the daemon was woken since the last look; every delivery that was made is answered by then."""
        self.yard.forge.delivered()
        inbox, found = self.yard.daemon.inbox, 0
        while (message := inbox.get(0)) is not None:
            found += message is Message.WAKE
        return found

    def heard(self, result: str) -> int:
        """How many deliveries were answered with that result, since this daemon started."""
        name = f'pointsman_webhooks_total{{forge="{self.yard.forge.kind}",result="{result}"}}'
        lines = self.yard.daemon.metrics.text().decode().splitlines()
        return int(sum(float(line.split()[-1]) for line in lines if line.startswith(name)))

    @contextmanager
    def down(self) -> Iterator[None]:
        """The daemon is stopped for the length of the block, then another one starts."""
        port = self._server.port
        self._server.stop()
        yield
        self.yard.again()
        self._server = self._listening(port)

    def close(self) -> None:
        """Stop listening."""
        self._server.stop()


@contextmanager
def hooked(yard: ForgeYard) -> Iterator[Hooked]:
    """The yard with its forge's deliveries."""
    made = Hooked(yard)
    try:
        yield made
    finally:
        made.close()
