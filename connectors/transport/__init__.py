"""The one HTTP client of the connectors: guarded addresses, one deadline, a record of what left, one verdict."""
