"""Tokens of `alita token` at two servers of one library: made, used, revoked; what each scope opens, and no other."""

from __future__ import annotations

import json
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any

import anyio
import httpx
import httpx2
import pytest
from mcp import Client, MCPError
from mcp.client.extension import advertise
from mcp.client.streamable_http import streamable_http_client

from alita_mcp.cli.main import main
from alita_mcp.models.scripted import ScriptedModel
from alita_mcp.server.tasks import EXTENSION
from alita_mcp.settings import FixedLimits, Settings
from tests.app.test_tasks import asks
from tests.postgres_cluster import PostgresServer
from tests.server.connections import SHOUT
from tests.server.in_memory import Build, called, finished, names_of, raw, succeeded, text_of
from tests.server.processes import PATIENCE_S
from tests.server.test_elicitation import FETCH_ITEM, OTHER, YES, Fetching, Person, task_that_asks
from tests.server.test_http import HEADERS, POST, TOKEN, listening, with_token
from tests.web.visiting import csrf_token

pytestmark = [pytest.mark.postgres, pytest.mark.extra("team")]
FETCH_OTHER = OTHER | {"needs": FETCH_ITEM["needs"]}
GIVEN = YES.model_dump(by_alias=True, mode="json", exclude_none=True)
with_forms = pytest.mark.parametrize("replicas", [{"elicit": True}], indirect=True, ids=["forms"])


@dataclass
class Replicas:
    """Servers of one library, and the command line beside them."""

    urls: list[str]
    alita: Callable[..., str]
    servers: list[Any]
    stack: AsyncExitStack = field(default_factory=AsyncExitStack)

    def token(self, name: str, team: str, *scopes: str, subject: str = "ann") -> str:
        words = [
            "create",
            name,
            "--team",
            team,
            "--subject",
            subject,
            *(("--scopes", *scopes) if scopes else ()),
        ]
        return self.alita("token", *words).strip()

    async def client(self, token: str, era: str = "modern", place: int = 0, **options: Any) -> Client:
        headers = {"authorization": f"Bearer {token}"}
        http = await self.stack.enter_async_context(
            httpx2.AsyncClient(
                headers=headers, timeout=httpx2.Timeout(PATIENCE_S), event_hooks={"request": [name_task]}
            )
        )
        await self.until(place, token, 200)
        over = streamable_http_client(self.urls[place], http_client=http)
        return await self.stack.enter_async_context(
            Client(over, mode="legacy" if era == "legacy" else "auto", **options)
        )

    async def status(self, place: int, token: str) -> int:
        async with httpx.AsyncClient(timeout=PATIENCE_S) as http:
            answer = await http.post(
                self.urls[place], json=POST, headers={**HEADERS, "authorization": f"Bearer {token}"}
            )
        return answer.status_code

    async def until(self, place: int, token: str, status: int) -> None:
        """Waits until a server answers a token so."""
        with anyio.fail_after(PATIENCE_S):
            while await self.status(place, token) != status:  # noqa: ASYNC110 - another server knows
                await anyio.sleep(0.02)


async def name_task(request: httpx2.Request) -> None:
    """Names the task of a request in its header, as the protocol of tasks wants it."""
    if task := json.loads(request.content or b"{}").get("params", {}).get("taskId"):
        request.headers["mcp-name"] = task


@pytest.fixture
async def replicas(
    build: Build, settings: Settings, postgres_url: str, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any, request: pytest.FixtureRequest,
) -> AsyncIterator[Replicas]:  # fmt: skip
    """Two servers; `with_forms` gives them settings, and a sandbox of which tools can fetch."""
    from pydantic import SecretStr

    changes: dict[str, Any] = {**getattr(request, "param", {})}
    model = changes.pop("model", None)

    def alita(*words: str) -> str:
        with monkeypatch.context() as patched:
            patched.setenv("ALITA_LIBRARY", postgres_url)
            patched.setenv("ALITA_HOME", str(tmp_path / "command"))
            assert main(words) == 0, capsys.readouterr()
        return capsys.readouterr().out

    async with AsyncExitStack() as stack:
        urls, servers = [], []
        for number in range(2):
            changes = changes | {"library": SecretStr(postgres_url), "home": tmp_path / f"replica{number}"}
            changed = with_token(settings.model_copy(update=changes))
            sandbox = Fetching() if "elicit" in changes else None
            servers.append(build(settings=changes, sandbox=sandbox, model=model))
            urls.append(await stack.enter_async_context(listening(changed, server=servers[-1])))
        made = Replicas(urls, alita, servers)
        async with made.stack:
            yield made


async def test_a_token_is_made_once_counts_everywhere_and_ends_everywhere(replicas: Replicas) -> None:
    token = replicas.token("laptop", "red")
    assert token.startswith("alita_")
    for place in (0, 1):
        await replicas.until(place, token, 200)
    listed = json.loads(replicas.alita("token", "list", "--json"))
    assert [(each["name"], each["owner"], each["scopes"]) for each in listed] == [
        ("laptop", "red/ann", ["call", "make"])
    ]
    assert token not in json.dumps(listed)
    replicas.alita("token", "revoke", "laptop")
    for place in (0, 1):
        await replicas.until(place, token, 401)
    assert "laptop" not in replicas.alita("token", "list")


async def test_the_servers_own_token_does_what_it_did(replicas: Replicas) -> None:
    client = await replicas.client(TOKEN)
    assert "synthesize_tool" in await names_of(client)


@pytest.mark.both_eras
async def test_each_scope_opens_what_it_names(replicas: Replicas, era: str) -> None:
    caller = await replicas.client(replicas.token("a", "red", "call"), era)
    maker = await replicas.client(replicas.token("b", "red", "make"), era)
    idle = await replicas.client(replicas.token("c", "red", "manage", "approve"), era)
    assert "synthesize_tool" not in await names_of(caller)
    assert {*await names_of(maker)} == {"synthesize_tool", "inspect_tool"}
    assert await names_of(idle) == []
    assert (await succeeded(maker, "synthesize_tool", **SHOUT))["status"] == "created"
    assert (await succeeded(caller, "run_tool", name="shout_it", arguments={"text": "a"})) == {"result": "A!"}
    refused = {
        "make": [(caller, "synthesize_tool", SHOUT), (idle, "synthesize_tool", SHOUT)],
        "call": [
            (client, tool, arguments)
            for client in (maker, idle)
            for tool, arguments in (
                ("run_tool", {"name": "shout_it", "arguments": {"text": "a"}}),
                ("shout_it", {"text": "a"}),
                ("search_capabilities", {"query": "shout"}),
                ("run_code", {"code": "1"}),
                ("solve_task", {"task": "x"}),
                ("research_web", {"question": "x"}),
            )
        ],
    }
    for scope, calls in refused.items():
        for client, tool, arguments in calls:
            with pytest.raises(MCPError, match=f"insufficient_scope: this token lacks the scope `{scope}`"):
                await called(client, tool, **arguments)


@with_forms
@pytest.mark.both_eras
async def test_the_person_at_a_token_with_approve_grants_and_at_another_is_not_asked(
    replicas: Replicas, era: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also of what another server made, of which this one has not heard yet."""
    other, person = Person(), Person()
    asked, _ = [await each.shared.get() for each in replicas.servers]
    asked.jobs.take_no_more()
    catalogue: Any = asked.library._store.catalogue
    pull = catalogue.pull

    def pull_unheard() -> bool:
        return not threading.current_thread().name.startswith("listen-") and pull()

    monkeypatch.setattr(catalogue, "pull", pull_unheard)
    client = await replicas.client(replicas.token("a", "red"), era, elicitation_callback=other)
    assert (await succeeded(client, "synthesize_tool", **FETCH_OTHER))["status"] == "needs_approval"
    token = replicas.token("b", "red", "call", "make", "approve")
    client = await replicas.client(token, era, elicitation_callback=person)
    answer = await succeeded(client, "synthesize_tool", **FETCH_ITEM)
    assert (answer["status"], answer["permissions"]) == ("created", ["network api.example.org"])
    assert "fetch_item" in await names_of(client)
    assert (len(other.asked), len(person.asked)) == (0, 1)


async def two_of_one_person(replicas: Replicas) -> tuple[Client, Client]:
    """Clients with the same owner, whose jobs and tasks belong to both: with `approve`, and without."""
    options: dict[str, Any] = {
        "elicitation_callback": Person(),
        "extensions": [advertise(EXTENSION)],
    }
    strong = await replicas.client(replicas.token("b", "red", "call", "make", "approve"), **options)
    return strong, await replicas.client(replicas.token("a", "red"), **options)


@with_forms
async def test_a_state_that_is_forged_or_of_a_token_with_approve_grants_nothing(replicas: Replicas) -> None:
    strong, weak = await two_of_one_person(replicas)
    call = {"name": "synthesize_tool", "arguments": FETCH_ITEM}
    asked = await raw(strong, "tools/call", **call)
    assert asked["resultType"] == "input_required", asked
    answers = dict.fromkeys(asked["inputRequests"], GIVEN)
    for state in (asked["requestState"], '{"job": "a", "rounds": 0}'):
        with pytest.raises(MCPError):
            await raw(weak, "tools/call", **call, requestState=state, inputResponses=answers)
    assert "fetch_item" not in await names_of(weak)
    done = await raw(strong, "tools/call", **call, requestState=asked["requestState"], inputResponses=answers)
    assert done["structuredContent"]["status"] == "created"


@pytest.mark.parametrize(
    "replicas", [{"elicit": True, "limits": FixedLimits(answer_within_s=0.01)}], indirect=True, ids=["tasks"]
)
async def test_an_answer_to_a_task_by_a_token_without_approve_grants_nothing(replicas: Replicas) -> None:
    strong, weak = await two_of_one_person(replicas)
    task, key = await task_that_asks(strong)
    with pytest.raises(MCPError, match="insufficient_scope"):
        await raw(weak, "tasks/update", taskId=task, inputResponses={key: GIVEN})
    assert (await raw(strong, "tasks/get", taskId=task))["status"] == "input_required"
    assert "fetch_item" not in await names_of(weak)
    await raw(strong, "tasks/update", taskId=task, inputResponses={key: GIVEN})
    assert (await finished(strong, task))["result"]["structuredContent"]["status"] == "created"


@pytest.mark.parametrize(
    "replicas", [{"elicit": True, "limits": FixedLimits(answer_within_s=0.01)}], indirect=True, ids=["tasks"]
)
async def test_a_task_is_nothing_to_a_token_of_its_owner_that_may_neither_call_nor_make(
    replicas: Replicas,
) -> None:
    strong, _ = await two_of_one_person(replicas)
    token = replicas.token("idle", "red", "manage", "approve")
    idle = await replicas.client(token, extensions=[advertise(EXTENSION)])
    task, key = await task_that_asks(strong)
    for method, said in (("get", {}), ("cancel", {}), ("update", {"inputResponses": {key: GIVEN}})):
        with pytest.raises(MCPError, match="insufficient_scope: this token lacks the scope `call`"):
            await raw(idle, f"tasks/{method}", taskId=task, **said)
    assert (await raw(strong, "tasks/get", taskId=task))["status"] == "input_required"


@pytest.mark.parametrize(
    "replicas",
    [
        {
            "limits": FixedLimits(task_plans=0),
            "model": ScriptedModel(
                [
                    asks("build_tool", description="Adds.", name="add_up", reason="again"),
                    asks("finish", answer="no", solved=False),
                ]
            ),
        }
    ],
    indirect=True,
    ids=["model"],
)
async def test_a_task_of_a_token_without_make_makes_no_tool(replicas: Replicas) -> None:
    client = await replicas.client(replicas.token("a", "red", "call"))
    told = await succeeded(client, "solve_task", task="Add.")
    while told["status"] == "working":
        told = await succeeded(client, "solve_task", job_id=told["job_id"])
    assert (told["answer"], told["calls"], told["tools_made"]) == ("no", 2, []), "no model wrote any code"
    assert "add_up" not in await names_of(client)


@with_forms
@pytest.mark.parametrize(("scopes", "status"), [(("call", "make"), 403), (("approve",), 303)])
async def test_a_session_of_a_token_with_approve_grants_at_the_page_and_another_does_not(
    replicas: Replicas, scopes: tuple[str, ...], status: int
) -> None:
    maker = await replicas.client(replicas.token("maker", "red"))
    assert (await succeeded(maker, "synthesize_tool", **FETCH_ITEM))["status"] == "needs_approval"
    token, stranger = (
        replicas.token("page", "red", *scopes, subject="alf"),
        replicas.token("x", "blue", "approve"),
    )
    app = await replicas.servers[0].shared.get()
    await app.library.look_again()
    form: dict[str, Any] = {"name": "fetch_item", "version": "1", "seen": "1", "decision": "approve"}
    form["digest"] = app.library.entry("fetch_item").manifest.digest
    for text, expected, grants in ((stranger, 404, False), (token, status, status == 303)):
        await replicas.until(0, text, 200)
        base = replicas.urls[0].removesuffix("/mcp")
        async with httpx.AsyncClient(base_url=base, timeout=PATIENCE_S) as browser:
            await browser.post("/ui/enter", data={"code": text})
            form["csrf_token"] = csrf_token((await browser.get("/ui/library")).text)
            done = await browser.post("/ui/decide/version", data=form)
        assert done.status_code == expected, done.text
        assert ("fetch_item" in await names_of(maker)) == grants


async def test_teams_see_nothing_of_each_other_by_any_door(replicas: Replicas) -> None:
    red = await replicas.client(replicas.token("red", "red"))
    blue = await replicas.client(replicas.token("blue", "blue", subject="bob"))
    assert (await succeeded(red, "synthesize_tool", **SHOUT))["status"] == "created"
    assert "shout_it" in await names_of(red)
    assert "shout_it" not in await names_of(blue)
    answers = [
        await called(blue, "search_capabilities", query="Shouts a text, ending in !"),
        await called(blue, "run_code", code="from alita_tools import shout_ix", arguments={}),
        await called(blue, "run_tool", name="shout_ix", arguments={"text": "a"}),
        await called(blue, "inspect_tool", name="shout_ix"),
        await called(blue, "shout_ix", text="a"),
    ]
    assert all("shout_it" not in text_of(each) for each in answers)
    for door in (
        called(blue, "run_tool", name="shout_it", arguments={"text": "a"}),
        called(blue, "inspect_tool", name="shout_it"),
        called(blue, "shout_it", text="a"),
    ):
        answer = await door
        assert answer.is_error
        assert "There is no tool 'shout_it'" in text_of(answer)
    for uri in ("alita://tools/shout_it/v1/source", "alita://tools/shout_it/v1/manifest"):
        with pytest.raises(Exception, match="There is no tool 'shout_it'"):
            await blue.read_resource(uri)
    catalogue = (await blue.read_resource("alita://tools")).contents[0].text
    assert "shout_it" not in catalogue
    taken = await called(blue, "synthesize_tool", **SHOUT)
    assert taken.structured_content["reason"] == "This name is taken."
    assert "red" not in text_of(taken)


async def test_a_call_under_way_ends_whole_though_its_token_is_revoked(replicas: Replicas) -> None:
    token = replicas.token("laptop", "red")
    client = await replicas.client(token, "legacy")
    await names_of(client)  # it checks results against its list
    revoked = False

    async def revoke(*_progress: object) -> None:
        nonlocal revoked
        if not revoked:
            revoked = True
            replicas.alita("token", "revoke", "laptop")
            await replicas.until(0, token, 401)

    answer = await client.call_tool("synthesize_tool", SHOUT, progress_callback=revoke)
    assert revoked
    assert answer.structured_content["status"] == "created"
    with pytest.raises(Exception, match="error"):
        await client.list_tools(cache_mode="bypass")


async def test_a_live_page_of_a_revoked_token_ends(replicas: Replicas) -> None:
    token = replicas.token("page", "red")
    await replicas.until(0, token, 200)
    base = replicas.urls[0].removesuffix("/mcp")
    async with httpx.AsyncClient(base_url=base, timeout=PATIENCE_S) as browser:
        await browser.post("/ui/enter", data={"code": token})
        with anyio.fail_after(PATIENCE_S):  # it sends a sign of life now and then
            async with browser.stream("GET", "/ui/activity/events") as stream:
                assert stream.status_code == 200
                replicas.alita("token", "revoke", "page")
                async for _ in stream.aiter_bytes():
                    pass


async def test_tokens_count_while_the_database_is_away(
    replicas: Replicas, postgres_server: PostgresServer
) -> None:
    token = replicas.token("laptop", "red")
    await replicas.until(0, token, 200)
    postgres_server.stop("immediate")
    try:
        assert await replicas.status(0, token) == 200
        assert await replicas.status(0, "alita_unknown") == 401
    finally:
        postgres_server.start()
    replicas.alita("token", "revoke", "laptop")
    await replicas.until(0, token, 401)


@pytest.mark.parametrize(
    "words",
    [
        ("create", "a b", "--team", "red", "--subject", "x"),
        ("create", "a", "--team", "red/blue", "--subject", "x"),
        ("create", "a", "--team", "..", "--subject", "x"),
        ("create", "a", "--team", "red", "--subject", "x/y"),
        ("create", "a", "--team", "red", "--subject", "x", "--scopes", "admin"),
        ("revoke", "nobody"),
    ],
)
def test_words_that_make_no_token_are_refused(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Any, words: tuple[str, ...]
) -> None:
    monkeypatch.setenv("ALITA_LIBRARY", postgres_url)
    monkeypatch.setenv("ALITA_HOME", str(tmp_path))
    assert main(("token", *words)) == 2


def test_two_tokens_never_have_one_name(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ALITA_LIBRARY", postgres_url)
    monkeypatch.setenv("ALITA_HOME", str(tmp_path))
    create = ("token", "create", "a", "--team", "red", "--subject", "x")
    assert main(create) == 0
    assert main(create) == 2
    assert "There is a token 'a'." in capsys.readouterr().err
    assert main(("token", "revoke", "a")) == 0
    assert main(create) == 0


@pytest.mark.parametrize(
    ("scopes", "opened"),
    [
        (("call",), {"ask", "library"}),
        (("manage",), {"library", "disable"}),
        (("approve",), {"library", "decide"}),
        (("call", "manage", "approve"), {"ask", "library", "disable", "decide"}),
    ],
)
async def test_a_session_of_a_token_opens_the_pages_of_its_scopes_and_ends_with_it(
    replicas: Replicas, scopes: tuple[str, ...], opened: set[str]
) -> None:
    red = await replicas.client(replicas.token("maker", "red"))
    assert (await succeeded(red, "synthesize_tool", **SHOUT))["status"] == "created"
    token = replicas.token("page", "red", *scopes, subject="alf")
    strange = replicas.token("strange", "blue", *scopes)
    for each in (token, strange):
        await replicas.until(0, each, 200)
    base = replicas.urls[0].removesuffix("/mcp")
    async with (
        httpx.AsyncClient(base_url=base, timeout=PATIENCE_S) as browser,
        httpx.AsyncClient(base_url=base, timeout=PATIENCE_S) as stranger,
    ):
        for each, text in ((browser, token), (stranger, strange)):
            assert (await each.post("/ui/enter", data={"code": text})).status_code == 200
        assert "shout_it" in (await browser.get("/ui/library")).text
        assert "shout_it" not in (await stranger.get("/ui/library")).text
        assert (await stranger.get("/ui/library/shout_it")).status_code == 404
        assert ("shout_it" in (await browser.get("/ui/activity")).text) == ("manage" in scopes)
        assert "shout_it" not in (await stranger.get("/ui/activity")).text
        form = {"csrf_token": csrf_token((await browser.get("/ui/library")).text)}
        answers = {
            "ask": await browser.get("/ui/ask"),
            "library": await browser.get("/ui/library/shout_it"),
            "decide": await browser.get("/ui/decide"),
            "disable": await browser.post("/ui/library/shout_it/do/disable", data=form),
            "common": await browser.post("/ui/library/calculate/do/disable", data=form),
            "gaps": await browser.get("/ui/gaps"),
            "health": await browser.get("/ui/health"),
            "worth": await browser.get("/ui/worth"),
        }
        assert {name for name, answer in answers.items() if answer.status_code < 400} == opened
        replicas.alita("token", "revoke", "page")
        await replicas.until(0, token, 401)
        assert (await browser.get("/ui/library")).status_code == 401
