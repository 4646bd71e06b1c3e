"""What we post to a forge is text and nothing else: cleaned, redacted, neutralised, cut, marked (connectors.md 18)."""
