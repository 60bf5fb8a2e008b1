"""Weighted circuits: clusters, Markov-logic weights, the decision of ShieldAgent."""
