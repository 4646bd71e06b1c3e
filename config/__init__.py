"""Settings: every default, and how a configuration file becomes them. Imports nothing else of ours."""
