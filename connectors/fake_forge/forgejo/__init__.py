"""Forgejo as a fake (and Gitea where the two agree): REST v1."""
