"""Loading of the generated code."""
