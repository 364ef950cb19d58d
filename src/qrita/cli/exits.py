"""What the command exits with, and the error that ends it politely."""

PASSED, FAILED, USAGE, INTERRUPTED, BROKEN_PIPE = 0, 1, 2, 130, 141


class UsageError(Exception):
    """What was asked for cannot be done. The message is for the person who typed it."""
