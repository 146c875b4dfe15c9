"""Keep variables that functions share in small objects, their cells."""
