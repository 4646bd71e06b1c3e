"""What the three forges have in common: neutral records, the client's protocol, the board over labels, operations."""
