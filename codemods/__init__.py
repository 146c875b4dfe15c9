"""The static half: lift helpers, move code by a plan, audit captures and seams, flag device syncs."""
