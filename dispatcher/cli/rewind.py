"""``pointsman rewind --run-id ID (--node N | --auto)``: back to an earlier node, files included (interface.md 3)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dispatcher.cli.session import Session
from dispatcher.refusals import Refused

if TYPE_CHECKING:
    from engine.api import Rewound

SCOPES = ("produced", "full", "none")


@click.command(help="Move a stopped run back to a node; what came from there is dropped, and files are restored.")
@click.option("--run-id", required=True, metavar="ID", help="which run")
@click.option("--node", default="", metavar="N", help="the node that is to run again")
@click.option("--auto", is_flag=True, help="the earliest node that an edit of the source affects")
@click.option("--restore-scope", type=click.Choice(SCOPES), help="files that the run changed, all, or none")
@click.option("--keep-files", is_flag=True, help="the same as --restore-scope none")
@click.option("--file", type=click.Path(path_type=Path), metavar="F", help="the source, when it moved")
@click.pass_obj
def command(session: Session, /, **given: Any) -> int:
    """Rewind and say what that did; the run goes on with ``resume``."""
    from engine.api import RewindRequest
    from engine.run import check_run_id

    if bool(given["node"]) == given["auto"]:
        raise click.UsageError("Give either --node N or --auto.")
    if given["keep_files"] and given["restore_scope"] not in (None, "none"):
        raise click.UsageError("--keep-files restores nothing; leave --restore-scope out.")
    run_id = check_run_id(given["run_id"])
    if not session.store_exists():
        raise Refused("not_found", f"Run {run_id} is unknown", f"There is no store at {session.store_dir} yet.")
    request = RewindRequest(
        run_id,
        given["node"],
        given["auto"],
        given["restore_scope"] or "",
        given["keep_files"],
        session.folder / given["file"] if given["file"] else None,
    )
    rewound = session.wiring().engine.rewind(request)
    if session.json:
        session.emit(rewound_document(rewound))
    else:
        session.say(rewound_text(rewound))
    return 0


def rewound_document(rewound: Rewound) -> dict[str, object]:
    """Who was rewound and how the run stands, the data of ``run_rewound``, and what ``--auto`` found."""
    record = rewound.record
    return {"run_id": record.id, "status": record.status, **rewound.data, "changes": dict(rewound.changes)}


def rewound_text(rewound: Rewound) -> str:
    """The same for people."""
    data, run_id = rewound.data, rewound.record.id
    lines = [f"  {node}: {what}" for node, what in rewound.changes.items()]
    if lines:
        lines.insert(0, "Found by comparing with the source that ran:")
    came_from = f" (asked for {data['promoted_from']}, inside its branches)" if data["promoted_from"] else ""
    lines.append(f"Run {run_id} is back at {data['to_node']}{came_from}, from {data['from_node']}.")
    for key, title in _LISTS.items():
        if data[key]:
            lines.append(f"  {title}: {_joined(data[key])}")
    lines.append(f"  files: {_files(rewound)}")
    lines.append(f"  go on with: pointsman resume --run-id {run_id}")
    return "\n".join(lines)


_LISTS = {
    "dropped_nodes": "dropped",
    "tombstoned_artifacts": "artifacts taken back",
    "orphaned_child_runs": "child runs left alone",
    "files_overwritten_paths": "overwritten although changed by somebody else",
    "files_left_in_place_paths": "changed since the last boundary and left",
}


def _joined(names: object) -> str:
    return ", ".join(map(str, names)) if isinstance(names, list | tuple) else str(names)


def _files(rewound: Rewound) -> str:
    data = rewound.data
    if not data["files_reverted"]:
        return f"nothing restored: {data['files_skip_reason']}"
    return f"restored to {data['files_ref']}; what was there is kept as {data['files_backup_ref']}"
