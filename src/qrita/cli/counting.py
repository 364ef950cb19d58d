"""Numbers with their nouns."""


def counted(number: int, plural: str, singular: str = "") -> str:
    """ "1 token", "2,000 tokens"; the singular is the plural without its s where none is given."""
    return f"{number:,} {(singular or plural.removesuffix('s')) if number == 1 else plural}"
