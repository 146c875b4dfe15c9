"""What may be done, and why not: refusals, the rules behind them, and decisions for sets of helpers."""
