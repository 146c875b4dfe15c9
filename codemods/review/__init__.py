"""What a change between two trees is: proven equal, aligned, or left to read."""
