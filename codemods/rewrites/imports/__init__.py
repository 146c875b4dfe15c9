"""Import sections: what is needed, and how they are written."""
