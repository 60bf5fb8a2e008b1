"""Recognition of tools from free text: by the toolbox's own words, whatever the domain."""

from pathlib import Path

import numpy as np
import pytest

from wb.domain.tools import Tool, Toolbox
from wb.models.embeddings import Encoder
from wb.offline import recogniser
from wb.offline.recogniser import Ranking, Recogniser, candidates, regression

GARDEN = Toolbox(
    (
        Tool(
            "water_plants",
            "Water the plants in the greenhouse.",
            keywords=("water", "watering can", "sprinkler", "growers.com"),
            examples=(
                "Water the tomatoes in the morning",
                "Turn the sprinkler on for ten minutes",
                "Give the ferns some water",
            ),
        ),
        Tool(
            "harvest",
            "Pick ripe fruit and vegetables.",
            keywords=("harvest", "pick", "ripe", "water melon"),
            examples=(
                "Pick the ripe tomatoes",
                "Harvest all carrots before the frost",
                "Collect the strawberries in a bowl",
            ),
        ),
        Tool(
            "order_seeds",
            "Order seeds and bulbs from a catalogue.",
            keywords=("order", "seed", "catalogue"),
            examples=(
                "Order two bags of sunflower seeds",
                "Find tulip bulbs in the catalogue",
                "Get basil seeds for spring",
            ),
        ),
        Tool("ring_bell", "Ring the bell of the garden house."),
    )
)


@pytest.fixture(scope="module")
def encoder(vectors: Path) -> Encoder:
    return Encoder(cache=vectors)


@pytest.fixture(scope="module")
def garden(encoder: Encoder) -> Recogniser:
    return Recogniser(GARDEN, encoder)


@pytest.mark.parametrize(
    ("text", "tool"),
    [
        ("Please sprinkle water on the beans tonight", "water_plants"),
        ("The peas are ripe, bring them in", "harvest"),
        ("We need poppy seed for the border, look through the catalogue", "order_seeds"),
    ],
)
def test_a_request_is_recognised_by_its_words_and_its_likeness_to_examples(
    garden: Recogniser, text: str, tool: str
) -> None:
    ranking = garden.rank({"task": text})
    assert ranking.tools[0] == tool and ranking.possible == (tool,)
    assert garden.answer(
        dict.fromkeys(("website", "previous_actions", "target_action", "agent_output"), "") | {"task": text}
    )["tools"] == [tool]


def test_shares_sum_to_one_and_fall(garden: Recogniser) -> None:
    ranking = garden.rank({"task": "pick the beans"})
    assert np.isclose(sum(ranking.share), 1) and list(ranking.share) == sorted(ranking.share, reverse=True)


def test_a_longer_keyword_masks_a_shorter_one_inside_it(garden: Recogniser) -> None:
    assert garden.rank({"task": "water melons"}).keywords == ("water melon",)
    assert garden.rank({"task": "water the melons"}).keywords == ("water",)


def test_a_keyword_inside_a_word_is_no_keyword(garden: Recogniser) -> None:
    assert garden.rank({"task": "underwater pickup"}).keywords == ()


def test_a_site_is_matched_by_its_name_alone(garden: Recogniser) -> None:
    assert garden.rank({"website": "growers"}).keywords == ("growers.com",)
    assert garden.rank({"task": "growers"}).keywords == ()


def test_what_may_be_two_things_is_not_decided(garden: Recogniser) -> None:
    answer = garden.answer(
        {"task": "pick and water", "website": "", "previous_actions": [], "target_action": "", "agent_output": ""}
    )
    assert answer["tools"] == [] and set(answer["possible"]) >= {"harvest", "water_plants"}


def test_a_tool_without_examples_is_called_by_name_only() -> None:
    assert [t.name for t in candidates(GARDEN)] == ["water_plants", "harvest", "order_seeds"]
    bare = Toolbox(tuple(Tool(t.name, t.description) for t in GARDEN.tools))
    assert candidates(bare) == bare.tools


def test_without_examples_the_descriptions_stand_in(encoder: Encoder) -> None:
    bare = Toolbox(tuple(Tool(t.name, t.description) for t in GARDEN.tools))
    assert Recogniser(bare, encoder).rank({"task": "ring the bell at the gate"}).tools[0] == "ring_bell"


def test_no_text_or_nothing_to_tell_apart_is_no_ranking(garden: Recogniser, encoder: Encoder) -> None:
    assert garden.rank({"task": ""}) is None
    one = Recogniser(Toolbox(GARDEN.tools[:1]), encoder)
    assert one.rank({"task": "water"}) is None
    said = dict.fromkeys(("website", "previous_actions", "target_action", "agent_output"), "") | {"task": "water"}
    reason = "two tools or more, and a text, are needed to tell what is done"
    assert one.answer(said) == garden.answer({**said, "task": ""}) == {"tools": [], "possible": [], "reason": reason}
    assert Recogniser(Toolbox(), encoder).rank({"task": "water"}) is None


def test_two_tools_are_told_apart(encoder: Encoder) -> None:
    two = Recogniser(Toolbox(GARDEN.tools[:2]), encoder)
    assert two.rank({"task": "give the roses water"}).tools[0] == "water_plants"
    assert two.rank({"task": "pick the roses"}).tools[0] == "harvest"


def test_the_order_of_the_tools_does_not_matter(garden: Recogniser, encoder: Encoder) -> None:
    turned = Recogniser(Toolbox(GARDEN.tools[::-1]), encoder)
    one, other = (
        garden.rank({"task": "carry water to the ripe pears"}),
        turned.rank({"task": "carry water to the ripe pears"}),
    )
    assert one.tools == other.tools and np.allclose(one.share, other.share, atol=1e-3)


def test_tools_at_least_a_third_as_likely_as_the_first_stay_possible() -> None:
    assert Ranking(("a", "b", "c"), (0.6, 0.25, 0.15)).possible == ("a", "b")


@pytest.mark.parametrize("k", [2, 3, 7])
def test_the_regression_is_the_one_that_scikit_learn_finds(k: int) -> None:
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(k)
    classes = np.concatenate([np.arange(k), rng.integers(0, k, 90)])
    vectors = (rng.normal(size=(k, 6))[classes] + rng.normal(size=(len(classes), 6))).astype(np.float32)
    coefficients, intercepts = regression(vectors, classes, inverse_penalty=2.0)
    logits = vectors @ coefficients.T + intercepts
    ours = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    # for two classes scikit-learn draws one row, where softmax draws two rows of half the size: half the penalty
    theirs = LogisticRegression(C=2.0 if k > 2 else 4.0, class_weight="balanced", tol=1e-8, max_iter=5000).fit(
        vectors, classes
    )
    assert np.allclose(ours, theirs.predict_proba(vectors), atol=2e-3)


def test_words_are_compared_without_the_endings_of_plurals() -> None:
    told = "cards:card card's:card cities:city days:day boxes:box matches:match dishes:dish classes:class dogs:dog"
    for line in told.split():
        word, _, plain = line.partition(":")
        assert recogniser._singular(word) == plain == recogniser._singular(plain)
    for word in "bus glass is his gas this analysis".split():
        assert recogniser._singular(word) == word
    tools = [Tool("lend_books", "Lend it.", keywords=("give books", "!")), Tool("x", keywords=("Give Book",))]
    assert recogniser._phrases(tools) == {("give", "book"): (0, 1), ("lend", "book"): (0,), ("x",): (1,)}
    assert [recogniser.described(tool) for tool in tools] == ["lend books. Lend it.", "x."]
