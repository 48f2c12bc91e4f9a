"""What was measured, as a picture: groups of bars with their spread, readable on light and on dark; pure."""

from collections.abc import Sequence
from typing import NamedTuple
from xml.sax.saxutils import escape

from tests.bench.side_results import SIDES, Results, Spread
from tests.bench.side_table import Line, is_over, number

WIDTH, LEFT, BAR, GAP, TITLE, TOP = 760, 130, 14, 18, 20, 44
LONGEST = WIDTH - LEFT - 150  # the rest is for the numbers
COLOURS = ("#8c959f", "#bf8700", "#d4722a", "#2f81f7")
STYLE = """
  text { font: 12px system-ui, sans-serif; fill: #57606a; }
  .title { font-weight: 600; }
  .spread { stroke: #24292f; stroke-width: 1.5; }
  @media (prefers-color-scheme: dark) { text { fill: #9da7b3; } .spread { stroke: #e6edf3; } }
"""


class Bar(NamedTuple):
    """One bar: who, how much, and whether it is more than that."""

    side: str
    found: Spread
    over: bool = False


def plot(results: Results, lines: Sequence[Line]) -> str:
    """All lines that were measured, each with a scale of its own."""
    groups = [(line.title, bars) for line in lines if (bars := bars_of(results, line))]
    parts, y = _legend(), TOP
    for title, bars in groups:
        parts += _group(title, bars, y)
        y += TITLE + len(bars) * (BAR + 2) + GAP
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y}" width="{WIDTH}" height="{y}" role="img">'
    about = "<title>Seconds of Manta, KubeRay and bare objects; shorter is better</title>"
    return "\n".join([head, about, f"<style>{STYLE}</style>", *parts, "</svg>"]) + "\n"


def bars_of(results: Results, line: Line) -> list[Bar]:
    """The bars of the sides that were measured."""
    found = ((side, results.spread(line.row, side, line.metric)) for side in SIDES)
    return [Bar(side, each, is_over(results, line, side)) for side, each in found if each]


def _legend() -> list[str]:
    parts = ['<text x="0" y="14" class="title">Seconds until; shorter is better. Each group has its own scale.</text>']
    for place, (side, colour) in enumerate(zip(SIDES, COLOURS, strict=True)):
        x = place * 150
        parts.append(f'<rect x="{x}" y="22" width="11" height="11" fill="{colour}"/>')
        parts.append(f'<text x="{x + 16}" y="32">{escape(side)}</text>')
    return parts


def _group(title: str, bars: Sequence[Bar], y: int) -> list[str]:
    longest = max(bar.found.most for bar in bars) or 1
    parts = [f'<text x="0" y="{y + 13}" class="title">{escape(title)}</text>']
    for place, bar in enumerate(bars):
        parts += _bar(bar, LONGEST / longest, y + TITLE + place * (BAR + 2))
    return parts


def _bar(bar: Bar, scale: float, y: int) -> list[str]:
    colour = COLOURS[SIDES.index(bar.side)]
    middle, found = y + BAR / 2, bar.found
    ends = [LEFT + value * scale for value in (found.least, found.most)]
    said = f"{'> ' if bar.over else ''}{number(found.median)} s"
    parts = [
        f'<text x="{LEFT - 8}" y="{y + 11}" text-anchor="end">{escape(bar.side)}</text>',
        f'<rect x="{LEFT}" y="{y}" width="{max(1.0, found.median * scale):.1f}" height="{BAR}" fill="{colour}"/>',
        f'<text x="{ends[1] + 8:.1f}" y="{y + 11}">{escape(said)}</text>',
    ]
    if found.rounds > 1:
        parts.append(f'<path class="spread" d="M{ends[0]:.1f} {middle}H{ends[1]:.1f}"/>')
        parts += [f'<path class="spread" d="M{end:.1f} {middle - 3}v6"/>' for end in ends]
    return parts
