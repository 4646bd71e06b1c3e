"""The HTTP side: a FastAPI app in the daemon's process, loopback by default (interface.md 6)."""
