#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""A page with charts from what measure.py wrote as JSON.

    page.py FIGURES.json FOLDER

makes FOLDER/index.html, its charts as SVG (by gnuplot), and table.md, the table
as a document has it.
"""

import html
import json
import os
import statistics
import subprocess
import sys

from table import columns, footer, markdown, median, number

COLOURS = {"rove": "#0b6e4f", "rxe": "#c1440e", "siw": "#7a5195", "TCP": "#1f77b4",
           "limit": "#888888"}
# In two parts, or this file would have two.
LICENCE = "SPDX-License-" + "Identifier: GPL-2.0 OR Linux-OpenIB"
STYLE = """body { font: 15px/1.45 sans-serif; max-width: 60em; margin: 2em auto; padding: 0 1em; }
table { border-collapse: collapse; } td, th { padding: .15em .7em; text-align: right; }
td:first-child { text-align: left; } tr:nth-child(even) { background: #f3f3f3; }
img { width: 100%; } .rove { font-weight: bold; }"""


def cumulated(values, points=400):
    """Latency against the share of all that took no longer."""
    last = len(values) - 1
    return [(values[last * i // points], 100 * i / points) for i in range(points + 1)]


def lines_of(data, name):
    """Points of each column for one chart."""
    out = {}
    for column, curves in data["curves"].items():
        points = curves.get(name)
        if points:
            out[column] = cumulated(points) if name == "latency" else points
    return out


def limit_line(data, lines):
    """What the kernel carries without RDMA, across the chart of sizes."""
    found = data["kernel"].get("trains")
    if found and lines:
        sizes = [size for size, _value in lines["rove"]]
        lines["limit"] = [(sizes[0], statistics.median(found)), (sizes[-1], statistics.median(found))]
    return lines


def plot(path, title, labels, lines, *settings):
    """One chart; gnuplot gets its data in line."""
    script = [f"set terminal svg size 820,420 dynamic font 'sans-serif,13' background '#ffffff'",
              f"set output '{path}'", f"set title '{title}'", f"set xlabel '{labels[0]}'",
              f"set ylabel '{labels[1]}'", "set grid lc rgb '#dddddd'", "set key left top",
              *settings]
    for name, points in lines.items():
        script += [f"${name} << EOD", *(f"{x} {y}" for x, y in points), "EOD"]
    script.append("plot " + ", ".join(
        f"${name} using 1:2 with {'lines dt 2' if name == 'limit' else style(points)} lw 2 "
        f"lc rgb '{COLOURS[name]}' title '{name}'" for name, points in lines.items()))
    subprocess.run(["gnuplot"], input="\n".join(script) + "\n", text=True, check=True)
    with open(path, encoding="utf-8") as file:
        head, rest = file.read().split("\n", 1)
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{head}\n<!-- {LICENCE} -->\n{rest}")


def style(points):
    """Few points are marked."""
    return "linespoints pt 7 ps 0.5" if len(points) < 50 else "lines"


def charts(data, folder):
    """Those that there are figures for: file names."""
    out = []
    bytes_axis = ("set logscale x 2", "set format x '%.0b %B'")
    for name, file, title, labels, settings in (
            ("size", "throughput.svg", "RDMA WRITE, one queue pair (TCP: iperf3 -l)",
             ("bytes in a message", "MiB/s"), bytes_axis),
            ("latency", "latency.svg", "RDMA WRITE of 64 bytes, one way",
             ("microseconds", "% of all"), ("set logscale x", "set key right bottom")),
            ("qps", "qps.svg", "RDMA WRITE of 8 bytes over many queue pairs",
             ("queue pairs", "thousands a second"),
             ("set logscale x 2", "set logscale y"))):
        lines = lines_of(data, name)
        if name == "size":
            lines = limit_line(data, lines)
        if lines:
            plot(os.path.join(folder, file), title, labels, lines, *settings)
            out.append(file)
    return out


def html_table(data):
    """The table."""
    names = columns(data)
    rows = ["<tr><th></th>" + "".join(f"<th>{name}</th>" for name in names) + "</tr>"]
    for row in data["rows"]:
        unit = f", {row['unit']}" if row["unit"] else ""
        cells = "".join(f'<td class="{name}">{number(median(data, row, name))}</td>'
                        for name in names)
        rows.append(f"<tr><td>{html.escape(row['text'] + unit)}</td>{cells}</tr>")
    return "<table>\n" + "\n".join(rows) + "\n</table>"


def page(data, files):
    """All of it."""
    notes = "".join(f"<p>{html.escape(line)}</p>\n" for line in footer(data))
    pictures = "".join(f'<p><img src="{file}" alt="{file}"></p>\n' for file in files)
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>rove, measured</title>
<style>{STYLE}</style></head><body>
<h1>rove, measured</h1>
<p>{html.escape(data.get("machine", ""))}</p>
{notes}{pictures}{html_table(data)}
</body></html>
"""


def main():
    """From the command line."""
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="ascii") as file:
        data = json.load(file)
    os.makedirs(sys.argv[2], exist_ok=True)
    files = charts(data, sys.argv[2])
    for name, text in (("index.html", page(data, files)), ("table.md", markdown(data) + "\n")):
        with open(os.path.join(sys.argv[2], name), "w", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    main()
