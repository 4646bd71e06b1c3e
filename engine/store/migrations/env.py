"""Alembic's entry: uses the connection that ``upgrade.py`` hands over, whose transaction is not ended here."""

from __future__ import annotations

from alembic import context

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=None, render_as_batch=True, transactional_ddl=False)
context.run_migrations()
