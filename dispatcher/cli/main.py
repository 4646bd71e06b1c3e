"""The door of the command line."""


def main() -> None:
    """Run the command line."""
