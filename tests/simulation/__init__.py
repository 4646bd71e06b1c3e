"""The dispatcher under a simulated clock: the product's own tick over seeded faults, many times faster than time.

``python -m tests.simulation --seeds 10000`` plays them; ``--seed N`` plays one again, exactly, and prints its shortened
history when an invariant breaks. ``play`` is the sentence, ``watch`` holds the invariants, ``machine`` stands for the
engine and its processes, ``people`` for everybody else.
"""
