"""What a formula means: text, semantics, automata, decisions. Imports nothing of `wb` but the paths."""
