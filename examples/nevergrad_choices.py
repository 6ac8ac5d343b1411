"""Choices that nevergrad describes
================================

Optimise choices that nevergrad describes: the same function with both libraries.

A parametrization of nevergrad becomes a space of harmonium: its choices by their places.
"""

import nevergrad as ng

import harmonium as hm

CALLS = 300

parametrization = ng.p.Instrumentation(
    kernel=ng.p.Choice(["linear", "poly", "rbf"]),
    degree=ng.p.TransitionChoice(range(1, 9)),
    scale=ng.p.Choice([True, False]),
    penalty=ng.p.TransitionChoice(range(20)),
)


def loss(kernel: str, degree: int, scale: bool, penalty: int) -> float:
    """Return a loss whose parameters interact; 0 is the optimum."""
    suits = 5 if kernel == "poly" else 1
    distance = abs(degree - suits) + 0.1 * abs(penalty - 3 * degree)
    return distance + 2 * (not scale) + (kernel != "poly")


choices = parametrization[1].value  # the named arguments
space = {name: list(parametrization[1][name].choices.value) for name in choices}
result = hm.minimize(lambda values: loss(**values), space=space, max_calls=CALLS, seed=1)

optimizer = ng.optimizers.DiscreteOnePlusOne(parametrization, budget=CALLS)
optimizer.parametrization.random_state.seed(1)
recommended = optimizer.minimize(loss).kwargs
print(f"harmonium {result.fun:g} with {result.best}")
print(f"nevergrad {loss(**recommended):g} with {recommended}")
