"""Random formulas and traces that several test files share."""

from wb.logic import formula as F

UNARY = (F.Not, F.Next, F.WeakNext, F.Eventually, F.Always, F.Previously, F.Once, F.Historically)
BINARY = (F.And, F.Or, F.Xor, F.Implies, F.Iff, F.Until, F.Release, F.WeakUntil, F.Since)


def random_formula(rng, depth, names, unary=UNARY, binary=BINARY):
    """A formula of at most that depth over the names; all operators are equally likely within their arity."""
    if depth == 0 or rng.random() < 0.15:
        return F.Constant(rng.random() < 0.5) if rng.random() < 0.05 else F.Atom(rng.choice(names))
    if rng.random() < 0.5:
        return rng.choice(unary)(random_formula(rng, depth - 1, names, unary, binary))
    return rng.choice(binary)(
        random_formula(rng, depth - 1, names, unary, binary), random_formula(rng, depth - 1, names, unary, binary)
    )


def random_trace(rng, names, longest=8):
    """A trace of 1 to `longest` steps, each predicate true with probability one half."""
    return tuple(frozenset(name for name in names if rng.random() < 0.5) for _ in range(rng.randint(1, longest)))
