"""What must hold: rules over predicates, read from sentences, refined, checked."""
