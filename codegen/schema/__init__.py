"""The grammar of operator signatures, and their types, defaults and names.

The only part of the generator that the runtime may import, with `source.py`, `words.py` and `excerpt.py` (and
`module_names.py`, `inputs.py` and `extension.py`, which tell whether the generated code is of these sources). So it
imports nothing else.
"""
