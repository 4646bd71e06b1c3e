"""The `.bot` language: source text to graph, one pass per file."""
