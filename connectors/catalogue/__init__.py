"""The one table of the operations that a workflow may call: parameters, result, effect class, probe, forges."""
