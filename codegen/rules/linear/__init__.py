"""The linearity check: how formulas, operators and the Python functions behind them depend on what comes in."""
