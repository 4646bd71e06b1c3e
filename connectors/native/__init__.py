"""The board that lies in the store: cards, columns, fields, comments, history (dispatcher.md 29)."""
