"""Words that were meant: `did_you_mean` gives what `difflib` gives, with fewer comparisons."""

from __future__ import annotations

import difflib
import random

from codegen.words import did_you_mean
from support.own_project import own_analysis


def mistyped(word: str, source: random.Random) -> str:
    letters = [*word]
    for _ in range(source.randrange(6)):
        place = source.randrange(len(letters) + 1)
        letters[place : place + source.randrange(2)] = source.choice(("", "a", "_", "grad", "Z"))
    return "".join(letters)


def test_the_word_that_was_meant_is_the_closest_one() -> None:
    source = random.Random(1)
    names = sorted({function.name.base for function in own_analysis().functions})
    found = 0
    for name in source.sample(names, 100):
        known = source.sample(names, 150)
        word = mistyped(name, source)
        close = difflib.get_close_matches(word.lower(), [each.lower() for each in known], 1, 0.6)
        meant = did_you_mean(word, known)
        assert ([] if meant is None else [meant.meant.lower()]) == close
        found += meant is not None
    assert 20 < found < 100
