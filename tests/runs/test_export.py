"""`gymnast runs export`: every value of metrics.csv, in a file that is never replaced by accident."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from gymnast import api
from gymnast.api import Run
from gymnast.cli.app import main
from gymnast.errors import GymnastError
from gymnast.metrics.csv_file import read_header, read_metrics


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    changes = {"env.n_envs": 4, "algo.n_steps": 16, "eval.every": 128, "eval.episodes": 1}
    return api.train(
        "CartPole-v1:ppo",
        overrides=changes | {"algo.batch_size": "all", "env.backend": "sync", "stop.eval_return": None},
        max_env_steps=256,
        runs_dir=tmp_path_factory.mktemp("runs"),
    )


def test_parquet_has_every_value_and_empty_cells_are_null(run: Run, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    done = api.export_metrics(run, tmp_path / "metrics.parquet")
    table = parquet.read_table(done.path)
    assert table.column_names == read_header(run.folder.metrics_path)
    found = [{key: value for key, value in row.items() if value is not None} for row in table.to_pylist()]
    assert found == run.metrics()
    assert str(table.schema.field("time/env_steps").type) == "int64"
    assert any(table.column("eval/return/mean").is_null().to_pylist())


def test_csv_reads_back_as_the_metrics_file(run: Run, tmp_path: Path) -> None:
    done = api.export_metrics(run, tmp_path / "metrics.csv")
    assert (done.rows, done.run) == (4, run.id)
    assert read_metrics(done.path) == run.metrics()


def test_export_replaces_a_file_only_when_told_to(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "kept.csv"
    path.write_text("mine")
    with pytest.raises(GymnastError, match=r"exists already; give --force"):
        api.export_metrics(run, path)
    with pytest.raises(GymnastError, match=r"x\.csv: there is no folder .*nowhere"):
        api.export_metrics(run, tmp_path / "nowhere" / "x.csv")
    assert path.read_text() == "mine"
    api.export_metrics(run, path, force=True)
    assert len(read_metrics(path)) == 4
    assert sorted(item.name for item in tmp_path.iterdir()) == ["kept.csv"]


def test_export_without_pyarrow_is_one_line(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as left:
        main(["runs", "export", str(run.folder.path)])
    assert left.value.code == 2
    assert capsys.readouterr().err == (
        "error: Parquet needs the extra 'parquet': pip install 'gymnast[parquet]'\n"
    )
    assert list(tmp_path.iterdir()) == []


def test_export_of_a_run_without_metrics_says_so(run: Run, tmp_path: Path) -> None:
    kept = run.folder.metrics_path.read_bytes()
    run.folder.metrics_path.write_bytes(b"time/env_steps,time/ve")
    try:
        with pytest.raises(GymnastError, match=f"run {run.id} has no metrics: a row is written"):
            api.export_metrics(run, tmp_path / "metrics.csv")
    finally:
        run.folder.metrics_path.write_bytes(kept)
    with pytest.raises(GymnastError, match=r"no format 'parket' \(did you mean 'parquet'"):
        api.export_metrics(run, tmp_path / "metrics", format="parket")


def test_name_of_another_format_is_refused_unless_the_format_is_named(run: Run, tmp_path: Path) -> None:
    """Parquet in a file called .xls opens nowhere."""
    path = tmp_path / "metrics.xls"
    with pytest.raises(GymnastError, match=r"metrics\.xls: name it \.csv or \.parquet, or give --format"):
        api.export_metrics(run, path)
    assert not path.exists()
    assert api.export_metrics(run, path, format="csv").path == path
    folder = tmp_path / "all.runs"
    folder.mkdir()
    assert api.export_metrics(run, folder, format="csv").path.suffix == ".csv"
    assert api.export_metrics(run, folder).path.suffix == ".parquet"
