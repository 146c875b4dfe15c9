"""What an installation starts: the console scripts, and the packages behind them."""
