"""Measuring: benchmarks, baselines, rates with intervals."""
