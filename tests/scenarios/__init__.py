"""What becomes of runs that were stopped, through the public API and the command line, on every store."""
