"""The methods that packages add to Tensor, for type checkers: there is no such module when a program runs.

These are none. A project names the packages that it uses in a file `typings/gradwright_methods.pyi` of its own, which
type checkers find first (docs/packages.md).
"""

class OfPackages: ...
