"""Cards move, runs follow: the daemon, the command line and the only room where the others meet."""

__version__ = "0.1.0"
