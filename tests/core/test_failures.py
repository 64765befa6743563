"""A failure costs one item: the rest is made, and the record says what failed, how and where."""

import errno

import numpy as np
import pytest

from geouq.core.errors import DataError
from geouq.core.failures import Failure, collecting, failure_of, isolated
from geouq.maps.scales import count_scale

pytestmark = pytest.mark.loses_items


def test_an_item_that_fails_is_recorded_once_and_the_next_is_made():
    made = []
    with collecting() as found:
        for item in ("a", "b", "b", "c"):
            with isolated("figures", item):
                if item == "b":
                    raise ZeroDivisionError("nothing to divide by")
                made.append(item)

    assert made == ["a", "c"]
    assert found == [Failure("", "figures", "ZeroDivisionError", "nothing to divide by", "b")]
    assert "Traceback" in found[0].trace
    assert "trace" not in found[0].row


def test_a_record_names_the_line_of_the_package_that_raised():
    with collecting() as found, isolated("maps", "colours of n"):
        count_scale("many")

    assert found[0].where.startswith("maps/scales.py:")
    assert " in " in found[0].where
    assert str(found[0]).startswith("colours of n (maps): TypeError: ")


def test_the_item_of_an_inner_block_is_named_with_the_outer_one():
    with collecting() as found, isolated("numbers", "height in west"), isolated("numbers", "rmse"):
        raise ValueError("no")

    assert found[0].item == "rmse, height in west"


def test_where_nothing_collects_failures_an_exception_is_raised():
    with pytest.raises(KeyError), isolated("maps", "a"):
        raise KeyError("a")


@pytest.mark.parametrize("error", [DataError("a.tif is empty"), OSError(errno.ENOSPC, "the disk is full")])
def test_what_users_repair_and_what_the_file_system_refuses_end_the_work(error):
    with pytest.raises(type(error)), collecting(), isolated("maps", "a"):
        raise error


def test_the_file_that_an_earlier_run_left_does_not_stand_for_a_missing_one(tmp_path):
    old = tmp_path / "pit.png"
    old.write_text("of an earlier run")
    with collecting(), isolated("figures", "pit", outputs=[old, tmp_path / "never.png"]):
        raise ValueError("no")

    assert not old.exists()


def test_secrets_and_line_breaks_are_no_part_of_a_message():
    failure = failure_of(ValueError("https://me:word@host/a.tif\nis broken"), "maps", item="a")

    assert failure.message == "https://***@host/a.tif is broken"


def test_failures_of_an_earlier_stage_come_first():
    earlier = Failure("", "recalibration", "ValueError", "no", "recalibration")
    with collecting([earlier]) as found, isolated("maps", "a"):
        np.linspace("a", "b", 3)

    assert [failure.stage for failure in found] == ["recalibration", "maps"]
