"""The write side of a run, pure: what its events mean, and which events a command yields."""
