"""Settings as a document for people and programs: secrets masked, durations as people write them, and the JSON Schema.

Called by ``pointsman config show`` and ``config schema``.
"""

from __future__ import annotations

import io
from typing import Any

from ruamel.yaml import YAML

from config.settings import Settings


def document_of(settings: Settings) -> dict[str, Any]:
    """Everything that holds, defaults included; a secret shows as asterisks."""
    document: dict[str, Any] = settings.model_dump(mode="json")
    return document


def yaml_of(document: dict[str, Any]) -> str:
    """``document`` as YAML."""
    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = False
    yaml.sort_base_mapping_type_on_output = False  # type: ignore[assignment]  # the library's own type is too narrow
    yaml.width = 120
    stream = io.StringIO()
    yaml.dump(document, stream)
    return stream.getvalue()


def schema() -> dict[str, Any]:
    """The JSON Schema of the configuration file."""
    found = Settings.model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **found, "title": "pointsman.yaml"}
