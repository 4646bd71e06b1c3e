"""The plain values that the engine needs from its host.

Made in ``dispatcher/wiring.py`` from the configuration; the engine reads no configuration and no environment of its
own (house: floors). Implements the settings of engine.md 18 that this build uses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from engine.dsl.graph import NodeKind
from engine.dsl.surroundings import Surroundings
from engine.errors import InvalidSetting
from engine.nodes.base import Execute
from engine.ports import Remote, as_it_is


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """Times in seconds, sizes in bytes, ratios as fractions.

    ``environment`` is the environment of this process as given, ``secret_names`` the variables that the configuration
    uses as secrets; what a tool sees of both is decided in ``engine/process.py`` (engine.md 12.4). ``exit_grace`` 0
    switches the grace off (engine.md 10.3). ``max_cost_per_day_usd`` 0 switches the daily cap off (10.6). ``around`` is
    what the compiler is told about connections, operations and backends, ``nodes`` the functions that execute kinds of
    nodes which the engine itself does not (backends). ``remote`` runs connector operations, None where there is none.
    ``workspace_boundaries`` False records no boundaries (8.5).
    ``clean`` takes secrets out of a JSON value: what a node gave back passes it before anything else sees it (12.4).
    ``locks_prove`` False says that a free lock proves nothing here, so that no orphan is promoted (12.1).
    """

    force_stale_after: float = 60.0
    exit_grace: float = 0.10
    schema_repairs: int = 2
    process_timeout: float = 86_400.0
    output_cap: int = 256 * 1024 * 1024
    max_cost_per_day_usd: float = 0.0
    branch_cancel_grace: float = 5.0
    workspace_boundaries: bool = True
    workspace_max_file: int = 32 * 1024 * 1024
    locks_prove: bool = True
    environment: Mapping[str, str] = field(default_factory=dict)
    secret_names: frozenset[str] = frozenset()
    around: Surroundings = field(default_factory=Surroundings)
    nodes: Mapping[NodeKind, Execute] = field(default_factory=dict)
    remote: Remote | None = None
    clean: Callable[[object], object] = as_it_is

    def __post_init__(self) -> None:
        """Refuse values that no run could work with. Raises ``InvalidSetting``."""
        if self.force_stale_after < 0:
            raise InvalidSetting(
                f"runs.force_stale_after is {self.force_stale_after}, which is negative.",
                "Give a duration such as 60s.",
            )
        if self.process_timeout <= 0:
            raise InvalidSetting(
                f"POINTSMAN_PROCESS_TIMEOUT is {self.process_timeout}, which is not a time.",
                "Give a duration such as 24h.",
            )
