"""A board in a dictionary, for tests and rehearsals; the same promises as the native one."""
