"""The command line: one verb per file; parse, call, print."""
