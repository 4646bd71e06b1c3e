"""GitLab: a client over the guarded transport (connectors.md 20). ``client`` is its door."""
