"""The documents that people and programs read about a run; pure, over what ``api.inspect`` read."""

from engine.documents.reading import read_view
from engine.documents.report import report_text
from engine.documents.run import RunView, event_document, run_document, summary_document

__all__ = ["RunView", "event_document", "read_view", "report_text", "run_document", "summary_document"]
