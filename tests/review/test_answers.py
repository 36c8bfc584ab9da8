"""Reviews by a model that behaves, over both APIs, from the command and from Python."""

from __future__ import annotations

import itertools
import json
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from gymnast import api
from gymnast.runs.store import RunFolder
from hostile_folders import call
from llm_server import REVIEW, LLMServer, Turn, llm_server, status, streamed, whole, without_structured_output

PROVIDERS = ("openai", "anthropic")


def endpoint(server: LLMServer, provider: str = "openai") -> api.ReviewEndpoint:
    base = f"{server.url}/v1" if provider == "openai" else server.url
    return api.review_endpoint(model="small-1", base_url=base, provider=provider)


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("turn", [whole(), streamed()], ids=["plain", "streamed"])
def test_a_review(run: RunFolder, provider: str, turn: Turn) -> None:
    with llm_server(turn) as server:
        stream = api.stream_review(run.path, endpoint=endpoint(server, provider))
        shown = "".join(stream)
        review = stream.review
    assert shown == (
        "The run improves but its budget ends before it is solved.\n"
        "\nwarning: The budget is too small\n  The score still rises at the last evaluation.\n"
        "  · threshold 475 not reached\n  · a line that nobody wrote\n"
        "\ngood: Stable updates\n  KL stays low.\n"
    )
    assert review.summary == REVIEW["summary"]
    assert [item.found for item in review.findings[0].evidence] == [True, False]
    assert (review.answered_by, review.input_tokens, review.output_tokens) == ("small-1-dated", 4321, 99)
    assert review.structured
    (proposal,) = review.proposals
    assert proposal.command == (
        "gymnast train CartPole-v1:ppo budget.env_steps=2048 eval.every=1024 eval.episodes=4"
        " algo.lr=2.5e-3 seed=3"
    )
    kept = json.loads(run.review_json_path.read_text())
    assert kept == json.loads(json.dumps(review.to_json()))
    assert kept["prompt_hash"] == stream.bundle.prompt_hash
    assert kept["model"] == "small-1"
    text = run.review_path.read_text()
    assert review.path == run.review_path
    assert "`a line that nobody wrote` (not found in what was sent)" in text
    assert f"```sh\n{proposal.command}\n```" in text


@pytest.mark.parametrize("provider", PROVIDERS)
def test_what_is_sent(run: RunFolder, provider: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GYMNAST_LLM_API_KEY", "a-key-of-my-own")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")  # not for what stays on this machine
    with llm_server() as server:
        api.review_runs(run.path, endpoint=endpoint(server, provider))
    (sent,) = server.questions
    bundle = api.review_bundle(run.path)
    assert sent.body["stream"] is True
    assert sent.body["model"] == "small-1"
    if provider == "openai":
        assert sent.path == "/v1/chat/completions"
        assert sent.headers["authorization"] == "Bearer a-key-of-my-own"
        assert [message["content"] for message in sent.body["messages"]] == [bundle.system, bundle.user]
        schema = sent.body["response_format"]["json_schema"]["schema"]
    else:
        assert sent.path == "/v1/messages"
        assert sent.headers["x-api-key"] == "a-key-of-my-own"
        assert sent.headers["anthropic-version"] == "2023-06-01"
        assert "authorization" not in sent.headers
        assert sent.body["system"] == bundle.system
        assert sent.body["messages"] == [{"role": "user", "content": bundle.user}]
        schema = sent.body["output_config"]["format"]["schema"]
    assert schema["required"] == ["summary", "findings", "proposals"]


def test_a_local_model_is_sent_no_key(run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "only-for-openai-itself")
    with llm_server() as server:
        api.review_runs(run.path, endpoint=endpoint(server))
    assert "authorization" not in server.questions[0].headers


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_server_without_structured_output(run: RunFolder, provider: str) -> None:
    with llm_server(without_structured_output) as server:
        review = api.review_runs(run.path, endpoint=endpoint(server, provider))
    assert len(server.questions) == 2
    assert not review.structured
    assert review.summary == REVIEW["summary"]
    assert review.proposals[0].is_ready


@pytest.mark.parametrize(
    "message",
    [
        "This model does not support structured outputs",
        "output_config: Extra inputs are not permitted",
        "Unsupported parameter: 'max_tokens' is not supported with this model",
    ],
)
def test_a_model_without_structured_output(run: RunFolder, message: str) -> None:
    with llm_server(status(400, message, kind="invalid_request_error"), streamed()) as server:
        review = api.review_runs(run.path, endpoint=endpoint(server, "anthropic"))
    assert not review.structured
    assert {"output_config"} & set(server.questions[0].body)
    assert not {"output_config"} & set(server.questions[1].body)


def test_pieces_may_be_asked_for_by_several_threads(run: RunFolder) -> None:
    """As a web server does."""
    with llm_server() as server, ThreadPoolExecutor(1) as one, ThreadPoolExecutor(1) as other:
        stream = api.stream_review(run.path, endpoint=endpoint(server))
        pieces, shown = iter(stream), ""
        for pool in itertools.cycle((one, other)):
            piece = pool.submit(next, pieces, None).result()
            if piece is None:
                break
            shown += piece
    assert shown.endswith("  KL stays low.\n")
    assert stream.review.path == run.review_path


def test_the_command(run: RunFolder) -> None:
    with llm_server() as server:
        options = ["--base-url", f"{server.url}/v1", "--model", "small-1", "--runs-dir", str(run.root)]
        code, text = call(["review", run.id, *options])
    assert code == 0
    assert f"sending {run.id}: " in text  # nobody is asked about what stays on this machine
    assert "warning: The budget is too small" in text
    assert "quoted as evidence, and not in what was sent:\n  · a line that nobody wrote" in text
    assert f"algo.lr=2.5e-3 seed=3 --runs-dir {run.root}\n" in text
    assert text.endswith(
        f"review   {run.review_path}\nmodel    small-1-dated, 4,321 tokens read, 99 tokens written\n"
    )


def test_json(run: RunFolder, capsys: pytest.CaptureFixture[str]) -> None:
    with llm_server() as server:
        options = ["--base-url", f"{server.url}/v1", "--model", "small-1", "--runs-dir", str(run.root)]
        code, text = call(["review", run.id, "--json", *options])
    assert code == 0
    said, _, document = text.partition("\n")
    assert said.startswith("sending")  # on stderr
    assert json.loads(document)["proposals"][0]["ready"] is True
    assert json.loads(document)["path"] == str(run.review_path)


def test_a_dry_run_sends_nothing_and_needs_no_key(run: RunFolder) -> None:
    where = ["--runs-dir", str(run.root)]
    code, text = call(["review", run.id, "--dry-run", "--model", "large-2", *where])
    assert code == 0
    bundle = api.review_bundle(run.path)
    assert bundle.system in text
    assert bundle.user in text
    assert "tokens, to large-2 at api.openai.com; nothing was" in text
    code, text = call(["review", run.id, "--dry-run", "--json", *where])
    assert json.loads(text)["url"] == "https://api.openai.com/v1/chat/completions"
    assert not run.review_path.exists()


def test_what_leaves_the_machine_is_agreed_to(run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "some-key-12345")
    code, text = call(["review", run.id, "--model", "m", "--runs-dir", str(run.root)])
    assert code == 2
    assert "this would send the run to api.openai.com: add --yes" in text


def test_a_second_review_replaces_the_first(run: RunFolder) -> None:
    with llm_server(streamed(), streamed({**REVIEW, "summary": "Seen again."})) as server:
        api.review_runs(run.path, endpoint=endpoint(server))
        api.review_runs(run.path, endpoint=endpoint(server))
    assert "Seen again." in run.review_path.read_text()
    assert json.loads(run.review_json_path.read_text())["summary"] == "Seen again."


def test_a_run_is_reviewed_while_it_trains(run: RunFolder) -> None:
    with run.lock(), llm_server() as server:
        assert api.review_runs(run.path, endpoint=endpoint(server)).path == run.review_path


def test_several_runs_are_kept_in_the_first(run: RunFolder) -> None:
    other = RunFolder(Path(shutil.copytree(run.path, run.root / "another1")))
    proposal = {**REVIEW["proposals"][0], "run": "another1"}
    with llm_server(streamed({**REVIEW, "proposals": [proposal]})) as server:
        review = api.review_runs([run.path, other.path], endpoint=endpoint(server))
    assert review.runs == (run.id, "another1")
    assert review.proposals[0].run == "another1"
    assert run.review_path.is_file()
    assert not other.review_path.exists()


@pytest.mark.parametrize("name", ["review.json", "review.md"])
def test_a_folder_that_cannot_be_written(run: RunFolder, caplog: pytest.LogCaptureFixture, name: str) -> None:
    (run.path / name).mkdir()  # in its place
    with llm_server() as server:
        review = api.review_runs(run.path, endpoint=endpoint(server))
    assert review.path is None
    assert review.summary == REVIEW["summary"]  # it was paid for
    assert "the review is not kept" in caplog.text
    assert not run.review_path.is_file()
    assert not run.review_json_path.is_file()


def test_two_reviews_at_once(run: RunFolder) -> None:
    """Each file is that of one of them, whole."""
    answers = [{**REVIEW, "summary": f"{letter * 3000}"} for letter in "ab"]
    with llm_server(*map(whole, answers), whole(answers[1])) as server:
        whom = endpoint(server)
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(lambda _: api.review_runs(run.path, endpoint=whom), range(4)))
    assert [review.path for review in found] == [run.review_path] * 4
    assert json.loads(run.review_json_path.read_text())["summary"] in {review.summary for review in found}


def test_given_up_in_the_middle(run: RunFolder) -> None:
    with llm_server(streamed(pause=0.02)) as server:
        stream = api.stream_review(run.path, endpoint=endpoint(server))
        assert next(iter(stream))
        stream.close()
    assert not run.review_path.exists()


def test_help_loads_no_http_library() -> None:
    code = (
        "import sys; from gymnast.cli.app import load_command; load_command('review');"
        "assert not {'httpx2', 'numpy', 'pydantic'} & set(sys.modules), sorted(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
