"""The listener: binds its port before anything starts, serves the app in a thread of its own, stops when told.

Made and stopped by ``daemon.py``. Off loopback it refuses to start without a token (interface.md 6).
"""

from __future__ import annotations

import errno
import socket
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field

import uvicorn

from dispatcher.refusals import Refused
from dispatcher.web.app import make_app
from dispatcher.web.backstage import Backstage
from dispatcher.web.guard import Rules
from dispatcher.web.patience import Patient
from dispatcher.web.ports import holder_of

BACKLOG = 128
_HERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104
"""Under which address this machine finds a listener on all of its addresses."""
DRAIN_SECONDS = 2
"""How long answers under way may take once a stop was asked for."""


@dataclass(frozen=True, slots=True)
class Listener:
    """Where to listen, and for whom; port 0 takes a free one. The token never appears in a log or an answer."""

    host: str
    port: int
    token: str = field(default="", repr=False)


class WebServer:
    """One listener with its thread."""

    def __init__(self, listener: Listener, backstage: Backstage) -> None:
        self._listener = listener
        self._backstage = backstage
        self._socket: socket.socket | None = None
        self._server: uvicorn.Server | None = None
        self._thread: threading.Thread | None = None

    @property
    def port(self) -> int:
        """The port that it listens on, once started."""
        return int(self._socket.getsockname()[1]) if self._socket is not None else self._listener.port

    @property
    def address(self) -> str:
        """Where a browser on this machine finds the page."""
        host = _HERE.get(self._listener.host.strip("[]"), self._listener.host.strip("[]"))
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}/"

    def start(self) -> None:
        """Bind the port, then serve; connections wait from the moment this returns. Raises ``Refused``."""
        rules = Rules.of(self._listener.host, self._listener.token)
        if rules.any_address and not rules.token:
            raise Refused("config_invalid", f"Listening on {self._listener.host} needs a token.", "Set server.token.")
        self._socket = bound(self._listener.host, self._listener.port)
        config = uvicorn.Config(
            make_app(self._backstage, rules),
            http=Patient,
            ws="none",
            log_config=None,
            log_level="error",
            access_log=False,
            lifespan="off",
            server_header=False,
            timeout_graceful_shutdown=DRAIN_SECONDS,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [self._socket]}, name="web", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """Take no more connections, let answers under way end, give the port back."""
        self._backstage.stopping.set()
        if self._server is not None and self._thread is not None:
            self._server.should_exit = True
            self._thread.join(2 * DRAIN_SECONDS + 1)
        if self._socket is not None:
            self._socket.close()


def bound(host: str, port: int) -> socket.socket:
    """A listening socket whose connections send an answer's body without waiting until its head was acknowledged.

    Raises ``Refused``.
    """
    failures: list[OSError] = []
    for family, place in _addresses(host, port):
        try:
            made = _listening(family, place)
        except OSError as error:
            failures.append(error)
        else:
            made.setblocking(False)
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return made
    raise _refused(host, port, failures[0])


def _listening(family: socket.AddressFamily, place: tuple[str, int]) -> socket.socket:
    """The socket of one address; that of every address takes both versions of IP where the system can."""
    both = family == socket.AF_INET6 and place[0] == "::" and socket.has_dualstack_ipv6()
    return socket.create_server(place, family=family, backlog=BACKLOG, dualstack_ipv6=both)


def _addresses(host: str, port: int) -> Iterable[tuple[socket.AddressFamily, tuple[str, int]]]:
    try:
        found = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        raise Refused(
            "config_invalid", f"{host} is no address to listen on: {error}.", "Change server.host."
        ) from error
    return [(family, (str(place[0]), int(place[1]))) for family, _, _, _, place in found]


def _refused(host: str, port: int, error: OSError) -> Refused:
    if error.errno == errno.EADDRINUSE:
        holder = holder_of(port)
        by = f" by {holder}" if holder else ""
        return Refused(
            "port_in_use",
            f"Port {port} on {host} is used{by}.",
            "Stop that process, or choose another port: --port, server.port, or --no-server.",
        )
    return Refused("config_invalid", f"{host}:{port} cannot be listened on: {error.strerror}.", "Change server.")
