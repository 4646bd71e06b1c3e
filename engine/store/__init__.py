"""The store of the engine: verbs with meaning, SQLModel inside, frozen records outside."""
