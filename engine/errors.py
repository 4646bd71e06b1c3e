"""The exceptions of the engine, one tree.

EngineError                       anything the engine refuses or cannot do
├── BadInput                      the caller gave something unusable; nothing was changed
│   ├── InvalidId                 a run id outside the allowed letters
│   ├── InvalidAnswers            answers that do not fit the question
│   ├── InvalidVars               launch values that do not fit the declared vars
│   ├── InvalidSetting            an engine setting out of its range
│   ├── SourceMissing             the workflow file cannot be opened
│   ├── SourceInvalid             the workflow has errors
│   └── PivotInvalid              the node to rewind to is unknown or was never reached
├── RunUnknown                    no such run was ever stored
├── RunDeleted                    the run was deleted; its id is spent
├── EffectUnknown                 no such remote call was ever written down
├── Refusal                       the present state forbids the operation
│   ├── WrongStatus               the status does not allow it
│   ├── AlreadyRunning            somebody else claimed the run
│   ├── LockHeld                  the run's lock is held by a live process
│   ├── TooRecent                 the last sign of life is too young to call the run stale
│   ├── SourceChanged             the source differs from the one that the run executes
│   ├── RunConflict               the record changed since it was loaded
│   ├── ResumeInvalid             request and artifact contract do not fit
│   ├── NothingToRewind           no checkpoint, or no edit that says where to rewind to
│   ├── EffectSettled             what became of the remote call is known already, or its run still makes it
│   └── AmbiguousUnread           the forge could not be asked about an ambiguous call
├── StoreError                    the store failed
│   ├── StoreBusy                 somebody else held the write lock for too long
│   ├── StoreFull                 no space, or the write was refused by the system
│   ├── StoreUnreachable          the database cannot be opened or reached; proves nothing about a run
│   ├── SchemaNewer               written by a newer build than this one
│   ├── LeaseLost                 a write began under a lease that is another's by now; nothing was written
│   └── RecordUnreadable          one stored row cannot be decoded; the others can
├── WorkspaceUnrecorded           a workspace outside the limits of engine.md 8.5; a run goes on without boundaries
├── RestoreFailed                 files of the workspace could not be brought back
├── OwnershipLost                 a write carried a stale epoch and changed no row
└── StopRequested                 a stop was signalled while something waited; carries the stop reason

Each class carries ``code`` (the stable ``error.code`` of interface.md 1), and each instance ``message`` and ``hint``:
what was found, then what to do. Which exit code and HTTP status belong to a code is ``dispatcher/refusals.py``.
"""

from __future__ import annotations

from typing import ClassVar


class EngineError(Exception):
    """The engine could not do what it was asked."""

    code: ClassVar[str] = "engine_error"

    def __init__(self, message: str = "", hint: str = "") -> None:
        self.message = message or (type(self).__doc__ or "").split("\n", 1)[0]
        self.hint = hint
        super().__init__(self.message)


class BadInput(EngineError):
    """The input cannot be used."""

    code = "bad_input"


class InvalidId(BadInput):
    """The run id is not allowed."""

    code = "invalid_id"


class InvalidAnswers(BadInput):
    """The answers do not fit the question."""

    code = "invalid_answers"


class InvalidVars(BadInput):
    """The launch values do not fit the declared vars."""

    code = "invalid_vars"


class InvalidSetting(BadInput):
    """An engine setting has an invalid value."""

    code = "invalid_setting"


class SourceMissing(BadInput):
    """The workflow file cannot be opened."""

    code = "source_missing"


class SourceInvalid(BadInput):
    """The workflow has errors."""

    code = "source_invalid"


class PivotInvalid(BadInput):
    """The run cannot be rewound to this node."""

    code = "pivot_invalid"


class RunUnknown(EngineError):
    """The run is unknown."""

    code = "not_found"


class RunDeleted(EngineError):
    """The run was deleted."""

    code = "deleted"


class EffectUnknown(EngineError):
    """The remote call is unknown."""

    code = "effect_unknown"


class Refusal(EngineError):
    """The present state forbids the operation."""

    code = "refused"


class WrongStatus(Refusal):
    """The run's status does not allow this."""

    code = "wrong_status"


class AlreadyRunning(Refusal):
    """The run is already being executed."""

    code = "already_running"


class LockHeld(Refusal):
    """The run's lock is held."""

    code = "lock_held"


class TooRecent(Refusal):
    """The run showed a sign of life too recently to be called stale."""

    code = "too_recent"


class SourceChanged(Refusal):
    """The source changed since the run was launched."""

    code = "source_changed"


class RunConflict(Refusal):
    """The run changed since it was loaded."""

    code = "conflict"


class ResumeInvalid(Refusal):
    """The request does not fit the run's artifacts."""

    code = "resume_invalid"


class WorktreeBroken(Refusal):
    """The worktree of the run is no longer one."""

    code = "worktree_broken"


class NothingToRewind(Refusal):
    """There is nothing to rewind."""

    code = "nothing_to_rewind"


class EffectSettled(Refusal):
    """The remote call is not in doubt."""

    code = "effect_settled"


class AmbiguousUnread(Refusal):
    """The forge could not be asked whether the call was made."""

    code = "ambiguous_unread"


class StoreError(EngineError):
    """The store failed."""

    code = "store_error"


class StoreBusy(StoreError):
    """The store is busy."""

    code = "store_busy"


class StoreFull(StoreError):
    """The store takes no writes."""

    code = "store_full"


class StoreUnreachable(StoreError):
    """The store cannot be reached."""

    code = "store_unreachable"


class SchemaNewer(StoreError):
    """The store was written by a newer version."""

    code = "schema_newer"


class LeaseLost(StoreError):
    """A lease of this process is another's."""

    code = "lease_lost"


class RecordUnreadable(StoreError):
    """A stored record cannot be read."""

    code = "record_unreadable"


class WorkspaceUnrecorded(EngineError):
    """The workspace is not recorded."""

    code = "workspace_unrecorded"


class WorktreeFailed(EngineError):
    """Git did not do what a worktree needs."""

    code = "worktree_failed"


class RestoreFailed(EngineError):
    """The workspace could not be restored."""

    code = "restore_failed"


class OwnershipLost(EngineError):
    """Another owner took the run over."""

    code = "ownership_lost"


class StopRequested(EngineError):
    """The run was told to stop."""

    code = "stop_requested"
