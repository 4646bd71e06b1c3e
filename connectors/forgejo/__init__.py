"""Forgejo, and Gitea where the two agree: a client over the guarded transport (connectors.md 20). ``client`` is its
door."""
