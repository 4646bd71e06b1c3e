"""What an editor asks about a workflow: findings, hover, definition, completion. Pure; the protocol is not here.

``analysis`` loads a text with its unit, ``spot`` says where the cursor stands, ``targets`` what is named there,
``hover`` and ``completion`` answer. Every list of words comes from the tables of the compiler.
"""
