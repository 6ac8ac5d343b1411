"""The bench: ratios of our speed to that of peers, measured in one run on one core."""

from harmonium.bench.results import Measurement, Report, Skipped, Solving, collect
from harmonium.bench.scale import FULL, QUICK, Scale
from harmonium.bench.suite import GROUPS, choose_groups, describe_setting, run_groups

__all__ = [
    "FULL",
    "GROUPS",
    "QUICK",
    "Measurement",
    "Report",
    "Scale",
    "Skipped",
    "Solving",
    "choose_groups",
    "collect",
    "describe_setting",
    "run_groups",
]
