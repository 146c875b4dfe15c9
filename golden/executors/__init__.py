"""Runs as jobs of a scheduler, by submitit; queueing, placing and queueing again are theirs."""
