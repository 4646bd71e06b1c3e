"""The machinery that moves a run from node to node."""
