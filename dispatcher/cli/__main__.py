"""``python -m dispatcher.cli`` is ``pointsman``."""

from dispatcher.cli.main import main

main()
