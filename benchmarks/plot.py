"""Plots of what the benchmarks measured; needs matplotlib (`pip install cortex-actors[bench]`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.figure import Figure

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes

    from benchmarks.recall import Report

#: Inches.
SIZE = (13.0, 4.5)


def recall(report: Report, path: Path) -> None:
    """Save what a recall takes by the number of memories, and where the planner changes its way."""
    figure = Figure(figsize=SIZE, layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    _ways(left, report)
    _index(middle, report)
    _filter(right, report)
    figure.savefig(path, dpi=150)


def _ways(axes: Axes, report: Report) -> None:
    """Draw the median of every way, and how far the slowest of a hundred lies above it."""
    for way in dict.fromkeys(row.way for row in report.rows):
        mine = [row for row in report.rows if row.way == way]
        sizes, middles = [row.memories for row in mine], [row.p50_ms for row in mine]
        (line,) = axes.plot(sizes, middles, marker="o", label=way)
        axes.fill_between(
            sizes, middles, [row.p99_ms for row in mine], color=line.get_color(), alpha=0.12
        )
    axes.set(
        title="Recall without the embedding: median, p99 shaded",
        xscale="log",
        yscale="log",
        xlabel="memories",
        ylabel="ms",
    )
    axes.legend(fontsize="small")
    axes.grid(visible=True, which="both", alpha=0.2)


def _index(axes: Axes, report: Report) -> None:
    """Draw comparing with all rows against asking the index."""
    found = report.crossover
    axes.plot(list(found.exact), list(found.exact.values()), marker="o", label="compare with all")
    axes.plot(list(found.index), list(found.index.values()), marker="o", label="ask the index")
    axes.set(title="Exact or index", xlabel="rows", ylabel="ms")
    if found.exact:
        axes.set(xscale="log", yscale="log")
        axes.legend(fontsize="small")
    axes.grid(visible=True, which="both", alpha=0.2)


def _filter(axes: Axes, report: Report) -> None:
    """Draw both ways through a filter."""
    found = report.crossover
    axes.plot(list(found.gather), list(found.gather.values()), marker="o", label="gather")
    axes.plot(list(found.full), list(found.full.values()), marker="o", label="compare with all")
    axes.set(
        title=f"Filters, {found.rows:,} rows",
        xlabel="share that passes",
        ylabel="ms",
        ylim=(0, None),
    )
    axes.legend(fontsize="small")
    axes.grid(visible=True, alpha=0.2)
