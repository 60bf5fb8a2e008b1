"""The engine without a model: a grammar of deontic English, a vocabulary, recognition. Nothing else needs it."""
