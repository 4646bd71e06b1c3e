"""The daemon process: clock, signals, reload, graceful stop (dispatcher.md 23, 24, 30 to 32)."""
