"""Say what you may have done: boards and forges behind one protocol."""
