import pytest

from harmonium import BOA, RBM, UMDA
from harmonium.optimize.choice import LONG, choose_model, read_model
from harmonium.specs import SpecError

PRICE = 50e-6
"""What an evaluation of 100 bits must take for the dearer model to pay."""


@pytest.mark.parametrize("length", [1, 10, 100, 1000, 5000])
def test_a_dear_function_gets_the_model_with_the_fewest_evaluations(length: int) -> None:
    choice = choose_model(length, 1.01 * PRICE * (length / 100) ** 2)
    assert (choice.model, choice.replacement) == (RBM(), "auto")
    assert "fewest evaluations" in choice.why


@pytest.mark.parametrize("length", [1, 10, 100, LONG])
def test_a_cheap_function_gets_a_fast_model(length: int) -> None:
    for seconds in (0.0, 0.99 * PRICE * (length / 100) ** 2):
        choice = choose_model(length, seconds)
        assert (choice.model, choice.replacement) == (BOA(), "worst")
        assert "a fast model pays" in choice.why


def test_a_cheap_function_of_many_bits_gets_a_plain_model() -> None:
    choice = choose_model(LONG + 1, 1e-6)
    assert (choice.model, choice.replacement) == (UMDA(), "auto")
    assert "more than 1,000 bits" in choice.why


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.0, "an evaluation takes 0 µs, less than 50 µs"),
        (12.3e-6, "an evaluation takes 12.3 µs, less than 50 µs"),
        (1.5e-3, "an evaluation takes 1.5 ms, at least 50 µs"),
        (20e-3, "an evaluation takes 20 ms"),
        (2.0, "an evaluation takes 2 s"),
        (7200.0, "an evaluation takes 7,200 s"),
    ],
)
def test_why_says_what_was_measured(seconds: float, words: str) -> None:
    assert choose_model(100, seconds).why.startswith(words)


def test_a_model_may_be_asked_for_by_text_or_as_it_is() -> None:
    assert read_model("rbm").model == RBM()
    assert read_model("boa:max_parents=4").model == BOA(max_parents=4)
    assert read_model(UMDA()).model == UMDA()
    assert read_model("rbm").why == "as asked"
    assert [read_model(name).replacement for name in ("boa", "rbm", "umda")] == [
        *("worst", "auto", "auto"),
    ]


@pytest.mark.parametrize("text", ["", "ga", "boa:parents=4", "rbm:rate=x", "auto"])
def test_a_model_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(SpecError):
        read_model(text)
