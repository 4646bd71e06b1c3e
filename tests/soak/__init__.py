"""Real processes for a long time: ``python -m tests.soak --minutes 60 --slots 8``."""
