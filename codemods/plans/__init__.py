"""Plans: which helpers and functions go to which module, composed in memory and written all or nothing."""
