"""Programs that the tools are tried on; each folder stands for somebody's repository."""
