"""The dispatcher under a simulated clock: the product's own tick over seeded faults, many times faster than time.

``python -m tests.simulation --seeds 10000`` plays them over the native board and over the boards of the fake forges in
turn; ``--board B --seed N`` plays one again, exactly, and prints its shortened history when an invariant breaks.
``play`` is the sentence, ``watch`` holds the invariants, ``machine`` stands for the engine and its processes,
``people`` for everybody else. ``grounds`` says what a board has to offer; ``forge`` is that of a fake forge, with
``weather`` for its faults, ``hands`` for a process's way to it and ``forge_laws`` for what must hold there.
"""
