"""Benchmarks: ratios against the raw driver and peers, taken in one run on one machine."""
