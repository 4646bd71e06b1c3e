"""GitLab as a fake: REST v4."""
