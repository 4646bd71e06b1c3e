"""One limiter per credential: what the forge allows, what it asked to wait for, and how fast we write."""
