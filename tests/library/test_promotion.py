"""Which tools clients see as tools of their own, and that the order stays."""

from __future__ import annotations

import pytest

from alita_mcp.library.promotion import Promotion
from alita_mcp.values import CatalogueEntry, Manifest, Trust


def entry(name: str, *, day: int = 1, trust: Trust = "verified", **standing: object) -> CatalogueEntry:
    moment = f"2026-01-{day:02}T00:00:00+00:00"
    manifest = Manifest(
        name=name, version=1, description="x", summary="x", input_schema={}, output_schema={}, wraps_result=True,
        trust=trust, deterministic=True, created_at=moment, digest="sha256:0",
    )  # fmt: skip
    known = {"state": "enabled", "versions": (1,), "sandboxes": ("monty",), "created_at": moment, **standing}
    return CatalogueEntry.model_validate({"manifest": manifest, **known})


def names(promotion: Promotion, *entries: CatalogueEntry) -> list[str]:
    return [chosen.name for chosen in promotion.choose(entries)]


def test_a_new_tool_is_listed_at_once_even_when_all_places_are_taken_by_better_ones() -> None:
    promotion = Promotion(8, verified_only=False)
    old = [entry(f"tool_{number:02}", day=number) for number in range(1, 20)]
    before = names(promotion, *old)
    after = names(promotion, *old, entry("newcomer", day=25, trust="provisional"))
    assert len(before) == len(after) == 8
    assert after[-1] == "newcomer"


def test_the_order_of_those_that_stay_does_not_change() -> None:
    promotion = Promotion(5, verified_only=False)
    first = names(promotion, entry("aaa", day=3), entry("bbb", day=2), entry("ccc", day=1))
    second = names(
        promotion,
        entry("aaa", day=3),
        entry("bbb", day=2, calls=900),
        entry("ccc", day=1),
        entry("ddd", day=9),
    )
    assert second == [*first, "ddd"]
    assert names(promotion, entry("bbb", day=2), entry("ddd", day=9)) == ["bbb", "ddd"]


def test_a_pinned_tool_is_never_pushed_out() -> None:
    promotion = Promotion(2, verified_only=False)
    crowd = [entry(f"tool_{number:02}", day=number) for number in range(5, 20)]
    assert "keeper" in names(promotion, *crowd, entry("keeper", day=1, trust="provisional", pinned=True))


def test_verified_tools_come_before_provisional_ones_and_use_counts() -> None:
    promotion = Promotion(4, verified_only=False)
    chosen = names(
        promotion,
        entry("newest", day=9),
        entry("thin", day=8, trust="provisional"),
        entry("unused", day=2),
        entry("used", day=1, calls=500),
        entry("plain", day=3),
    )
    assert chosen == ["newest", "used", "plain", "unused"]


@pytest.mark.parametrize("standing", [{"state": "disabled"}, {"state": "quarantined"}, {"approved": False}])
def test_what_cannot_be_called_is_not_listed(standing: dict[str, object]) -> None:
    assert names(Promotion(5, verified_only=False), entry("hidden", **standing)) == []


def test_verified_only_and_none_at_all_can_be_asked_for() -> None:
    assert names(Promotion(5, verified_only=True), entry("thin", trust="provisional"), entry("good")) == [
        "good"
    ]
    assert names(Promotion(0, verified_only=False), entry("good")) == []


def test_provisional_tools_stand_behind_verified_ones_and_each_kind_keeps_its_order() -> None:
    promotion = Promotion(8, verified_only=False)
    thin = [entry("thin_a", day=8, trust="provisional"), entry("thin_b", day=7, trust="provisional")]
    assert names(promotion, *thin) == ["thin_a", "thin_b"]
    assert names(promotion, *thin, entry("good_a", day=1)) == ["good_a", "thin_a", "thin_b"]
    assert names(promotion, *thin, entry("good_a", day=1), entry("good_b", day=9)) == [
        "good_a",
        "good_b",
        "thin_a",
        "thin_b",
    ]


def test_a_raised_tool_joins_the_verified_ones_and_a_pinned_one_stands_among_them() -> None:
    promotion = Promotion(8, verified_only=False)
    entries = [entry("thin", day=3, trust="provisional"), entry("good", day=2)]
    assert names(promotion, *entries) == ["good", "thin"]
    assert names(promotion, entry("thin", day=3), entry("good", day=2)) == ["good", "thin"]
    pinned = entry("other", day=1, trust="provisional", pinned=True)
    assert names(promotion, *entries, pinned) == ["good", "other", "thin"]
