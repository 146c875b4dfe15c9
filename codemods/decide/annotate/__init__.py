"""What a captured variable is, as far as the program says it, and how an annotation states that."""
