"""GitHub: issues under labels, issues on a project board, and everything that an action may do there."""
