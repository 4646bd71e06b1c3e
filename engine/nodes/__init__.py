"""One file per kind of node; a node takes a context and returns an outcome."""
