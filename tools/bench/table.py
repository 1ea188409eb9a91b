# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The figures as text."""

import statistics

COLUMNS = ("rove", "rxe", "siw", "TCP", "limit")


def median(data, row, column):
    """Of one cell; nothing if it was not measured."""
    values = data["results"].get(row["name"], {}).get(column)
    return statistics.median(values) if values else None


def number(value):
    """Three or four digits that count."""
    if value is None:
        return "-"
    if value >= 100:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def columns(data):
    """Those that there is something in."""
    return [column for column in COLUMNS
            if any(column in cells for cells in data["results"].values())]


def better(data, row):
    """How many times better rove is than rxe; nothing where that says nothing."""
    ours, theirs = (median(data, row, name) for name in ("rove", "rxe"))
    if not ours or not theirs:
        return None
    less = row["unit"] in ("us", "s", "bytes") or row["name"] == "calls"
    return theirs / ours if less else ours / theirs


def footer(data):
    """What the figures have to be read with."""
    lines = [f"medians of {data['rounds']} rounds; one system call here (getppid): "
             f"{data['getppid_us']:.1f} us",
             f"a program that only looks at the clock is held up {data['held'][0]:.0f} times a "
             f"second, typically for {data['held'][1]:.0f} us"]
    doorbell = data["kernel"].get("doorbell")
    if doorbell:
        lines.append("a kernel thread asked through a mapped page answers after "
                     f"{statistics.median(doorbell):.2f} us")
    return lines


def table(data):
    """One line for each row."""
    names = columns(data)
    lines = [f"{'':42}" + "".join(f"{name:>9}" for name in names) + "   rove : rxe"]
    for row in data["rows"]:
        ratio = better(data, row)
        cells = "".join(f"{number(median(data, row, name)):>9}" for name in names)
        times = f"{ratio:.1f}" if ratio else ""
        lines.append(f"{row['text'] + (', ' + row['unit'] if row['unit'] else ''):42}{cells}"
                     f"{times:>10}")
    return "\n".join(lines + footer(data))


def markdown(data):
    """The same for a document."""
    names = columns(data)
    lines = ["| | " + " | ".join(names) + " | rove : rxe |",
             "|---|" + "--:|" * (len(names) + 1)]
    for row in data["rows"]:
        ratio = better(data, row)
        cells = " | ".join(number(median(data, row, name)).replace("-", "") for name in names)
        unit = ", " + row["unit"] if row["unit"] else ""
        lines.append(f"| {row['text'].strip()}{unit} | {cells} | "
                     f"{f'{ratio:.1f}' if ratio else ''} |")
    return "\n".join(lines)
