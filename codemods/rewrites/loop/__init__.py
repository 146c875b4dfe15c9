"""Make a main loop the method of a class: rules and transformer."""
