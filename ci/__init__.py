"""The gate: every check of this repository in one command on a pull request."""
