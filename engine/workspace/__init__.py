"""Boundaries of a workspace that a run works in: what it held before and after a node, and back again (engine.md 8.5).

Used by ``runtime`` alone. It reads and writes files of the workspace and of the content pool, never the store.
"""
