"""Derivatives that follow from expressions: slopes, kinks, and the entries that are made of them."""
