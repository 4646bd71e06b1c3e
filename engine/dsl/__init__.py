"""The `.bot` language: source text to graph, one pass per file.

The door is ``load`` (``engine/dsl/load.py``): a path becomes a ``Loaded`` with a graph, diagnostics and a digest. The
records of the graph are ``graph``; expressions and templates are evaluated by ``expressions`` and ``rendering``. What a
workflow text means is language.md; nothing here runs anything.
"""
