"""What each code of a message means: a page for each, with an example that gives it and one that does not."""
