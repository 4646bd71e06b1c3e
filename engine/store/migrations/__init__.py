"""The schema of the store, revision by revision; one file per room and change, in one line."""
