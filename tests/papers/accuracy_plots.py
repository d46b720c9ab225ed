"""Pictures of what tests/accuracy/study.py found: panels in rows of three, lines with the deviation of each mean."""
import statistics
from html import escape

from accuracy_tables import BY_FREEDOM, METHODS, MODELS, SPARSITIES, V, by_place, patterns_at, speed_ups

# Okabe and Ito's, which colour-blind readers tell apart.
COLOURS = {"csr": "#0072b2", "shfl_bw": "#009e73", "vector_wise": "#e69f00", "bcsr": "#d55e00", "v_n_m": "#cc79a7",
           "n_m": "#56b4e9", "dense": "#777777"}
WIDTH, HEIGHT, LEFT, TOP, GAP = 240, 190, 40, 30, 45
STYLE = """<style>
text { font: 11px sans-serif; fill: #222 } .paper { fill: #fff } .frame { stroke: #999; fill: none } .grid { stroke: #ddd }
@media (prefers-color-scheme: dark) { text { fill: #ddd } .paper { fill: #16181d } .grid { stroke: #333 } }
</style>"""


class Panel:
    """Points (x, mean, deviation) by pattern; the accuracy goes from `least` to 100 %."""

    def __init__(self, title, x_label, ticks, series, least):
        self.title, self.x_label, self.ticks, self.series, self.least = title, x_label, ticks, series, least
        self.first, self.last = ticks[0][0], ticks[-1][0]

    def x(self, value):
        return (value - self.first) / (self.last - self.first) * (WIDTH - 20) + 10

    def y(self, value):
        return (100 - value) / (100 - self.least) * HEIGHT

    def grid(self):
        for value in range(self.least, 101, 20):
            yield f'<path class="grid" d="M0 {self.y(value):.1f}h{WIDTH}"/>'
            yield f'<text x="-6" y="{self.y(value) + 4:.1f}" text-anchor="end">{value}</text>'
        for value, name in self.ticks:
            yield f'<text x="{self.x(value):.1f}" y="{HEIGHT + 15}" text-anchor="middle">{name}</text>'
        yield f'<rect class="frame" width="{WIDTH}" height="{HEIGHT}"/>'
        yield f'<text x="0" y="-8">{escape(self.title)}</text>'
        yield f'<text x="{WIDTH / 2}" y="{HEIGHT + 30}" text-anchor="middle">{escape(self.x_label)}</text>'

    def lines(self):
        for name, points in self.series.items():
            colour, points = COLOURS[name], sorted(points)
            path = "L".join(f"{self.x(x):.1f} {self.y(mean):.1f}" for x, mean, _ in points)
            yield f'<path d="M{path}" stroke="{colour}" fill="none" stroke-width="1.5"/>'
            for x, mean, deviation in points:
                top, bottom = self.y(min(100, mean + deviation)), self.y(max(self.least, mean - deviation))
                yield f'<path d="M{self.x(x):.1f} {top:.1f}V{bottom:.1f}" stroke="{colour}"/>'
                yield (f'<circle cx="{self.x(x):.1f}" cy="{self.y(mean):.1f}" r="3" fill="{colour}"><title>'
                       f'{name}, {x:g}: {mean:.1f} ± {deviation:.1f}</title></circle>')


def svg_of(title, panels):
    names = [name for name in COLOURS if any(name in panel.series for panel in panels)]
    across = min(3, len(panels))
    down = -(-len(panels) // across)
    width, height = LEFT + across * (WIDTH + GAP), TOP + down * (HEIGHT + 70)
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">',
             f"<title>{escape(title)}</title>", STYLE, f'<rect class="paper" width="{width}" height="{height}"/>']
    for at, panel in enumerate(panels):
        x, y = LEFT + at % across * (WIDTH + GAP), TOP + at // across * (HEIGHT + 70)
        lines += [f'<g transform="translate({x} {y})">', *panel.grid(), *panel.lines(), "</g>"]
    for at, name in enumerate(names):
        x, y = LEFT + at * min(95, (width - LEFT) // len(names)), height - 12
        lines += [f'<circle cx="{x}" cy="{y - 4}" r="4" fill="{COLOURS[name]}"/>',
                  f'<text x="{x + 9}" y="{y}">{name}</text>']
    return "\n".join([*lines, "</svg>"]) + "\n"


def point(x, place, field="pruned"):
    values = [100 * run[field] for run in by_place()[place].values()]
    return x, statistics.mean(values), statistics.stdev(values)


def least_of(*all_series):
    """The multiple of 20 below all points."""
    return int(min(mean - deviation for series in all_series for points in series.values()
                   for _, mean, deviation in points) // 20 * 20)


def over_sparsity(models, method):
    """Accuracy by pattern, a panel for each network."""
    every = []
    for model in models:
        series = {}
        for sparsity in SPARSITIES:
            for pattern in patterns_at(sparsity):
                series.setdefault(pattern.partition(":")[0], []).append(
                    point(100 * sparsity, (model, method, pattern, sparsity)))
        every.append((MODELS[model], series))
    least = least_of(*(series for _, series in every))
    ticks = [(100 * sparsity, f"{100 * sparsity:g}") for sparsity in SPARSITIES]
    return svg_of(f"Accuracy of networks pruned {METHODS[method]}, V = {V}",
                  [Panel(f"{name}: accuracy, %", "zeros, %", ticks, series, least) for name, series in every])


def over_speed_up(models, method):
    """Accuracy of a small network over the speed-up of a large product in the same pattern."""
    every = []
    for model in models:
        series = {"dense": [point(1, (model, "one_shot", "csr", 0.0), "dense")]}
        for sparsity in (0.5, *SPARSITIES):
            for pattern in patterns_at(sparsity):
                name = pattern.partition(":")[0]
                found = speed_ups().get((name, round(100 * sparsity)))
                if found:
                    series.setdefault(name, []).append(point(found[0], (model, method, pattern, sparsity)))
        every.append((MODELS[model], series))
    ticks = [(number, str(number)) for number in range(7)]
    least = least_of(*(series for _, series in every))
    return svg_of("Accuracy over speed-up", [
        Panel(f"{name}: accuracy, %", "speed-up over cuBLAS f16, 5120 x 5120 x 4096", ticks, series, least)
        for name, series in every])


PICTURES = {
    "accuracy_gradual.svg": lambda: over_sparsity(MODELS, "gradual"),
    "shfl_bw_2.svg": lambda: over_speed_up(("lstm", "transformer"), "gradual"),
}
