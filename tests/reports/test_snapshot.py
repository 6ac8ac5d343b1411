"""What a report reads of a store: sums over all trials, of one moment, while others write."""

from pathlib import Path

import pytest

from harmonium.reports.snapshot import take_snapshot
from harmonium.studies import Store, parse_study
from harmonium.studies.driver import bind
from harmonium.studies.summary import list_trials
from tests.reports.stores import ONE_SIZE, SMALL, fill_store, read_snapshot
from tests.studies.made import make_failure, make_outcome, make_record, make_trial


def test_the_overview_is_that_of_all_trials(small_store: Path) -> None:
    with Store.open(small_store) as store:
        overview, trials = store.overview(), list(list_trials(store))
    assert overview.trials == len(trials)
    assert overview.failed == 0
    assert overview.first == min(trial["started"] for trial in trials)
    assert overview.last == max(trial["started"] for trial in trials)
    assert overview.cpu_seconds == pytest.approx(sum(trial["cpu_total"] for trial in trials))
    assert overview.wall_seconds == pytest.approx(sum(trial["seconds"] for trial in trials))
    assert len(overview.environments) == len(overview.hosts) == 1


def test_the_overview_knows_failures_hosts_and_environments(tmp_path: Path) -> None:
    with Store.create(tmp_path / "made.db") as store:
        assert store.overview() == (0, 0, "", "", 0, 0, [], [])
        store.append(make_trial(1), make_record(make_outcome(cpu=2.0), host="a"))
        store.append(make_trial(2), make_record(make_failure(), host="b"))
        store.append(make_trial(3), make_record(environment={"python": "4"}, host="a"))
        overview = store.overview()
    assert (overview.trials, overview.failed, overview.cpu_seconds) == (3, 1, 3.0)
    assert overview.hosts == ["a", "b"]
    assert [facts["python"] for facts in overview.environments] == ["3", "4"]


def test_the_version_changes_with_what_is_stored(tmp_path: Path) -> None:
    study = parse_study(SMALL, "small")
    with Store.create(tmp_path / "made.db") as store:
        versions = [store.version()]
        bind(study, store)
        versions.append(store.version())
        store.append(make_trial(1), make_record(make_failure()))
        versions.append(store.version())
        store.append(make_trial(1), make_record())  # tried again
        versions.append(store.version())
        assert store.version() == versions[-1]
    assert len(set(versions)) == 4


def test_a_frozen_store_does_not_see_what_is_written_meanwhile(tmp_path: Path) -> None:
    path = tmp_path / "made.db"
    with Store.create(path) as writer, Store.open(path) as reader:
        writer.append(make_trial(1), make_record())
        with reader.frozen():
            assert len(reader) == 1
            writer.append(make_trial(2), make_record())
            assert len(reader) == len(reader.outcomes()) == reader.overview().trials == 1
        assert len(reader) == 2


def test_the_result_of_a_trial(tmp_path: Path) -> None:
    with Store.create(tmp_path / "made.db") as store:
        store.append(make_trial(1), make_record())
        assert store.result(make_trial(1).key)["optimum"] == 20.0
        assert store.result(make_trial(2).key) == {}


def test_the_courses_are_those_of_the_largest_sizes(small_store: Path) -> None:
    snapshot = read_snapshot(small_store)
    assert [(one.family, one.size, one.name) for one, _ in snapshot.courses] == [
        *(("onemax", 60, name) for name in ("rbm", "boa")),
        *(("trap:order=4", 20, name) for name in ("rbm", "boa", "boa-rtr")),
        *(("nk:k=2", 12, name) for name in ("rbm", "boa", "boa-rtr")),
    ]
    for one, course in snapshot.courses:
        assert course.trace["best"][-1] == pytest.approx(course.optimum)
        assert course.trace["generation"][-1] == one.outcome.figures.generations
        assert course.fact_labels[0] == ("epochs" if one.name == "rbm" else "edges")


def test_a_store_can_be_read_while_its_driver_has_it_open(tmp_path: Path) -> None:
    path = fill_store(tmp_path / "one.db", ONE_SIZE)
    with Store.create(path), Store.open(path) as reader:
        snapshot = take_snapshot(reader)
    assert snapshot.complete
    assert snapshot.names == ["rbm", "boa"]
    assert snapshot.plan == "bisect"
