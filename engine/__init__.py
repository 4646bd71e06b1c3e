"""The durable engine: a run never loses its place."""
