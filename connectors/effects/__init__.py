"""The one door through which a change of a forge goes, and the marker by which a change is found again."""
