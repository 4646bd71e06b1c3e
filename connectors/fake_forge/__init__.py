"""A scripted forge over real HTTP on loopback, for tests and for users' own rehearsals (connectors.md 24).

GitHub, GitLab or Forgejo, stateful, with faults on demand. Nothing of the connectors' clients is imported here: both
sides are written from the forges' published descriptions, so that one cannot hide the other's mistakes.
"""
