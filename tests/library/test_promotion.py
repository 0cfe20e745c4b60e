"""Which tools clients see as tools of their own, that the order stays, and that a few rows are enough to choose."""

from __future__ import annotations

import random
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from alita_mcp.library.catalogue.catalogue import Catalogue
from alita_mcp.library.catalogue.use import Use
from alita_mcp.library.promotion import Promotion, newcomers
from alita_mcp.library.rows import CatalogueEntry
from alita_mcp.library.versions.files import manifest_of
from alita_mcp.library.versions.store import Store
from alita_mcp.values import Grants, Manifest, Trust
from tests.library.factory import simple


def entry(name: str, *, day: int = 1, trust: Trust = "verified", **standing: object) -> CatalogueEntry:
    moment = f"2026-01-{day:02}T00:00:00+00:00"
    manifest = Manifest(
        name=name, version=1, description="x", summary="x", input_schema={}, output_schema={}, wraps_result=True,
        trust=trust, deterministic=True, created_at=moment, digest="sha256:0",
    )  # fmt: skip
    known = {"state": "enabled", "versions": (1,), "sandboxes": ("wasm",), "created_at": moment, **standing}
    return CatalogueEntry.model_validate({"manifest": manifest, **known})


def names(promotion: Promotion, *entries: CatalogueEntry) -> list[str]:
    return [chosen.name for chosen in promotion.choose(entries)]


def test_a_new_tool_is_listed_at_once_even_when_all_places_are_taken_by_better_ones() -> None:
    promotion = Promotion(8)
    old = [entry(f"tool_{number:02}", day=number) for number in range(1, 20)]
    before = names(promotion, *old)
    after = names(promotion, *old, entry("newcomer", day=25, trust="provisional"))
    assert len(before) == len(after) == 8
    assert after[-1] == "newcomer"


def test_the_order_of_those_that_stay_does_not_change() -> None:
    promotion = Promotion(5)
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
    promotion = Promotion(2)
    crowd = [entry(f"tool_{number:02}", day=number) for number in range(5, 20)]
    assert "keeper" in names(promotion, *crowd, entry("keeper", day=1, trust="provisional", pinned=True))


def test_verified_tools_come_before_provisional_ones_and_use_counts() -> None:
    promotion = Promotion(4)
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
    assert names(Promotion(5), entry("hidden", **standing)) == []


def test_none_at_all_can_be_asked_for() -> None:
    assert names(Promotion(0), entry("good")) == []


def test_provisional_tools_stand_behind_verified_ones_and_each_kind_keeps_its_order() -> None:
    promotion = Promotion(8)
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
    promotion = Promotion(8)
    entries = [entry("thin", day=3, trust="provisional"), entry("good", day=2)]
    assert names(promotion, *entries) == ["good", "thin"]
    assert names(promotion, entry("thin", day=3), entry("good", day=2)) == ["good", "thin"]
    pinned = entry("other", day=1, trust="provisional", pinned=True)
    assert names(promotion, *entries, pinned) == ["good", "other", "thin"]


def drawn(draw: random.Random) -> dict[str, Any]:
    """A tool as any may stand."""
    return {
        "trust": draw.choice(["verified"] * 4 + ["provisional"]),
        "created": draw.randrange(40),
        "change": draw.choice([None] * 9 + ["disabled", "deleted", "quarantined"]),
        "pinned": draw.random() < 0.05,
        "asks": draw.choice([(), (), ("example.org",), ("*",)]),
        "approved": draw.random() < 0.5,
        "in_part": draw.random() < 0.5,
        "used": draw.choice([None, draw.randrange(90)]),
        "calls": draw.randrange(1_200),
    }


def moment(number: int) -> str:
    """Some are equal, some only a microsecond apart, some an hour, as much as a call counts."""
    hour, rest = divmod(number, 5)
    return f"2026-01-{1 + hour:02}T{rest // 2:02}:59:59.99999{rest}+00:00"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(16))
def test_a_few_rows_of_the_catalogue_are_enough_to_choose_as_of_all_entries(seed: int) -> None:
    draw = random.Random(seed)
    tools = [drawn(draw) for _ in range(60)]
    at_most = draw.choice([0, 1, 3, 8, 20])
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        names = [f"tool_{number:02}" for number in range(len(tools))]
        store = Store(home, None)
        try:
            enter(store.catalogue, dict(zip(names, tools, strict=True)))
            everything = list(store.reader.entries())
            few = store.reader.candidates(at_most, newcomers(at_most))
            chosen = Promotion(at_most).choose(store.reader.some(few).values())
            assert chosen == Promotion(at_most).choose(everything)
            assert [each.name for each in chosen] == best_of(everything, at_most)
        finally:
            store.close()


def best_of(entries: list[CatalogueEntry], at_most: int) -> list[str]:
    """The rule, said without a heap: pinned ones, the newest quarter, then by trust and by last use."""
    able = [each for each in entries if each.callable_now]
    by_age = sorted(able, key=lambda each: (each.manifest.created_at, each.name), reverse=True)
    new = {each.name for each in by_age[: -(-at_most // 4)]}

    def place(each: CatalogueEntry) -> tuple[object, ...]:
        latest = datetime.fromisoformat(max(each.manifest.created_at, each.last_used or ""))
        until = latest + timedelta(hours=min(each.calls, 1_000))
        behind = each.manifest.trust != "verified"
        return (
            not each.pinned,
            each.name not in new,
            behind,
            datetime.max.replace(tzinfo=UTC) - until,
            each.name,
        )

    best = sorted(able, key=place)[:at_most]
    return [
        each.name
        for each in sorted(best, key=lambda each: each.manifest.trust != "verified" and not each.pinned)
    ]


def enter(catalogue: Catalogue, tools: dict[str, dict[str, Any]]) -> None:
    manifests = [
        manifest_of(simple(name, trust=tool["trust"]), 1).model_copy(
            update={"grants": Grants(network=tool["asks"]), "created_at": moment(tool["created"])}
        )
        for name, tool in tools.items()
    ]
    catalogue.publish(*((manifest, "seal", "scripted") for manifest in manifests))
    uses = {
        name: Use(tool["calls"], 0, moment(tool["used"]))
        for name, tool in tools.items()
        if tool["used"] is not None
    }
    catalogue.record_calls([], uses)
    digests = {manifest.name: manifest.digest for manifest in manifests}
    for name, tool in tools.items():
        if tool["asks"] and tool["approved"]:
            part = Grants(network=("example.org",)).model_dump_json() if tool["in_part"] else ""
            catalogue.change("approved", name, 1, digest=digests[name], part=part)
        if tool["pinned"]:
            catalogue.change("pinned", name)
        if tool["change"]:
            catalogue.change(tool["change"], name, 1, reason="changed")


def test_a_tool_whose_time_is_none_hides_no_other(home: Path) -> None:
    store = Store(home, None)
    for name, created in (("timeless", "some day"), ("tool_a", moment(1)), ("tool_b", moment(2))):
        manifest = manifest_of(simple(name), 1).model_copy(update={"created_at": created})
        store.catalogue.publish((manifest, "seal", "scripted"))
    found = store.reader.some(store.reader.candidates(3, 0))
    store.close()
    assert set(names(Promotion(3), *found.values())) == {"timeless", "tool_a", "tool_b"}
