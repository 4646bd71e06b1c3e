"""Cards move, runs follow: the daemon, the command line and the only room where the others meet."""
