"""LangGraph with its SQLite or PostgreSQL saver, ``durability="sync"``: a state is stored before the next step runs."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any, TypedDict

from tests.benchmarks.peers.peer import body


class State(TypedDict):
    """What a graph carries."""

    i: int
    n: int


class LangGraph:
    """One looping node. There is no query for what is unfinished: every stored state is walked."""

    def __init__(self, folder: Path, store: str, *, again: bool) -> None:
        from langgraph.types import Command

        self._command = Command
        self._saver, self._connection = _saver(folder, store)
        self._saver.setup()
        self._graph, self._asking = _graphs(self._saver)

    def run(self, run_id: str, steps: int) -> None:
        """As the protocol says."""
        self._graph.invoke({"i": 0, "n": steps}, _named(run_id), durability="sync")

    def recover(self, run_id: str, steps: int) -> None:
        """As the protocol says."""
        self._graph.invoke(None, _named(run_id), durability="sync")

    def unfinished(self) -> list[str]:
        """As the protocol says."""
        seen = {each.config["configurable"]["thread_id"] for each in self._saver.list(None)}
        return [name for name in seen if self._graph.get_state(_named(name)).next]

    def pause(self, run_id: str) -> None:
        """As the protocol says."""
        self._asking.invoke({"i": 0, "n": 1}, _named(run_id), durability="sync")

    def answer(self, run_id: str, value: int) -> None:
        """As the protocol says."""
        self._asking.invoke(self._command(resume=value), _named(run_id), durability="sync")

    def close(self) -> None:
        """As the protocol says."""
        self._connection.close()


def _named(run_id: str) -> dict[str, Any]:
    return {"configurable": {"thread_id": run_id}, "recursion_limit": 1_000_000}


def _saver(folder: Path, store: str) -> tuple[Any, Any]:
    if store:
        import psycopg
        from langgraph.checkpoint.postgres import PostgresSaver

        url = store.replace("+psycopg", "")
        row = psycopg.rows.dict_row
        connection: Any = psycopg.connect(url, autocommit=True, prepare_threshold=0, row_factory=row)
        return PostgresSaver(connection), connection
    from langgraph.checkpoint.sqlite import SqliteSaver

    file = sqlite3.connect(folder / "langgraph.sqlite", check_same_thread=False)
    return SqliteSaver(file), file


def _graphs(saver: Any) -> tuple[Any, Any]:
    from langgraph.graph import END, START, StateGraph
    from langgraph.types import interrupt

    def step(state: State) -> dict[str, int]:
        return {"i": body(state["i"])["i"] + 1}

    def ask(state: State) -> dict[str, int]:
        interrupt("is it good?")
        return {"i": state["i"]}

    laps = StateGraph(State)
    laps.add_node("step", step)
    laps.add_edge(START, "step")
    laps.add_conditional_edges("step", lambda state: "step" if state["i"] < state["n"] else END, ["step", END])
    asking = StateGraph(State)
    asking.add_node("ask", ask)
    asking.add_node("step", step)
    asking.add_edge(START, "ask")
    asking.add_edge("ask", "step")
    asking.add_edge("step", END)
    return laps.compile(checkpointer=saver), asking.compile(checkpointer=saver)
