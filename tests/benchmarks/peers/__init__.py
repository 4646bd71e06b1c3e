"""The same durable work on this engine and on others, taken in turn: ``python -m tests.benchmarks.peers``.

``works`` is what is done, ``raw``, ``ours``, ``dbos`` and ``langgraph`` are who does it. Each repeat is a fresh process
on a fresh store; each engine that is not ours lives in a virtual environment of its own, made by ``venvs``.
"""
