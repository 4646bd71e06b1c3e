"""Proof that a run survives: graphs, stores that die or refuse at a chosen write, and the laws that the end must keep.

Used by ``test_kill_at_every_commit.py``, ``test_failing_store.py`` and ``test_random_graphs.py``. No part of it is a
seam of the engine: faults are real signals, real limits of the kernel, real locks of the database, or an exception out
of the one door to the store.
"""
