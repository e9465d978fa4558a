"""What becomes of effects when workers are killed, race each other, or do not hear an answer.

Every test counts what the outside itself says was done.
"""
