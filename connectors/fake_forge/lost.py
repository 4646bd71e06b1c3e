"""Faults after the request was performed: the answer never comes, comes cut, or cannot be read (connectors.md 24).

``LOST`` is total over the stage ``after``. Each function writes what it writes and ends the connection, or answers
True when the connection may be used again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from connectors.fake_forge.exchange import Answer
from connectors.fake_forge.stream import Stream, bytes_of, head_of


@dataclass(frozen=True, slots=True)
class Loss:
    """An answer about to be lost; ``stopped`` is set when the forge shuts down, for faults that would last for ever."""

    stream: Stream
    answer: Answer
    given: Mapping[str, Any]
    stopped: threading.Event


def close(loss: Loss) -> bool:
    """The connection ends without an answer."""
    loss.stream.finish()
    return False


def reset(loss: Loss) -> bool:
    """The connection is reset."""
    loss.stream.reset()
    return False


def hang(loss: Loss) -> bool:
    """Silence until the peer gives up."""
    hold(loss.stream, loss.stopped)
    return False


def hold(stream: Stream, stopped: threading.Event) -> None:
    """Keep the connection, take what comes, say nothing, until the peer leaves or the forge stops."""
    while not stopped.is_set():
        try:
            if not stream.read_some(65536):
                break
        except OSError:
            break
    stream.close()


def server_error(loss: Loss) -> bool:
    """A 5xx of the forge or of a proxy before it."""
    body = loss.given.get("body", {"message": "Server Error"})
    code = int(loss.given.get("status", 502))
    headers = {str(key): str(value) for key, value in dict(loss.given.get("headers") or {}).items()}
    body = body.encode() if isinstance(body, str) else body
    loss.stream.write(bytes_of(Answer(code, body, {"Date": loss.answer.headers.get("Date", ""), **headers})))
    return True


def cut_head(loss: Loss) -> bool:
    """The status line and a part of the headers."""
    head = head_of(loss.answer, len(loss.answer.payload()))
    loss.stream.write(head[: int(loss.given.get("bytes", len(head) // 2))])
    loss.stream.finish()
    return False


def cut_body(loss: Loss) -> bool:
    """Half of the announced body, or a chunk that never ends."""
    payload = loss.answer.payload()
    half = payload[: len(payload) // 2]
    if loss.given.get("chunked"):
        loss.stream.write(head_of(loss.answer, None) + b"%x\r\n" % len(payload) + half)
    else:
        loss.stream.write(head_of(loss.answer, max(len(payload), 1)) + half)
    loss.stream.finish()
    return False


def bad_json(loss: Loss) -> bool:
    """A body that is no JSON, with a length that fits."""
    body = str(loss.given.get("body", '{"id": 12, "number":')).encode()
    loss.stream.write(bytes_of(Answer(loss.answer.status, body, loss.answer.headers)))
    return True


def bad_gzip(loss: Loss) -> bool:
    """A body that claims to be compressed and is not."""
    answer = loss.answer.with_headers({"Content-Encoding": "gzip"})
    loss.stream.write(bytes_of(Answer(answer.status, b"\x1f\x8b\x08no gzip at all", answer.headers)))
    return True


def empty(loss: Loss) -> bool:
    """The status and nothing else."""
    loss.stream.write(bytes_of(Answer(loss.answer.status, b"", loss.answer.headers)))
    return True


def garbage(loss: Loss) -> bool:
    """Bytes that are no TLS record below a connection that was one; plain garbage without TLS."""
    raw = loss.stream.raw()
    raw.sendall(b"\x00\x01garbage instead of a record\x02\x03")
    raw.close()
    loss.stream.close()
    return False


def drip(loss: Loss) -> bool:
    """The head at once, then a byte now and then, without end."""
    pause = 1.0 / float(loss.given.get("bytes_per_s", 10))
    loss.stream.write(head_of(loss.answer, None))
    try:
        while not loss.stopped.wait(pause):
            loss.stream.write(b"1\r\n \r\n")
    except OSError:
        pass
    loss.stream.close()
    return False


def close_idle(loss: Loss) -> bool:
    """The answer is whole, then the kept connection ends: at once, or (``when: second``) on the next request."""
    loss.stream.write(bytes_of(loss.answer))
    if loss.given.get("when") == "second":
        loss.stream.read_some(1)
    loss.stream.finish()
    return False


LOST: Mapping[str, Callable[[Loss], bool]] = MappingProxyType(
    {
        "act_then_close": close,
        "act_then_reset": reset,
        "act_then_hang": hang,
        "act_then_5xx": server_error,
        "act_then_cut_head": cut_head,
        "act_then_cut_body": cut_body,
        "act_then_bad_json": bad_json,
        "act_then_bad_gzip": bad_gzip,
        "act_then_empty": empty,
        "tls_garbage_after": garbage,
        "drip": drip,
        "close_idle": close_idle,
    }
)
"""fault of stage ``after`` -> what it does to the answer."""
