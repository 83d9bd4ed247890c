"""Recording and differentiation: Nodes, saved state, views, the engine, forward mode."""
