"""The console scripts of an installation, and the packages behind them."""
