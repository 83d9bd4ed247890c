"""A rule to name."""


def along(level, operator, values):
    return values
