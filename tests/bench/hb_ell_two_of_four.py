#!/usr/bin/env python3
"""How many blocks of 16 x 16 of real weights sparse tensor cores could take.

mma.sp multiplies rows that keep two of each four columns. Of the blocks that hold an entry: the share whose rows do so
as they are, and the share for which an order of the block's 16 columns was found in which they do.
  hb_ell_two_of_four.py FILE.smtx ...
An order is looked for by placing columns, those with most entries first, where the rows have most room left, from 64
random orders of equal ones; a row of more than eight entries can have none. What is found is a lower limit.
"""
import random
import sys

SIZE, GROUPS, MOST, ATTEMPTS = 16, 4, 2, 64


def blocks_of(path):
    """The columns of each block that holds an entry, each a set of rows as bits."""
    with open(path) as file:
        rows, _, _ = (int(number) for number in file.readline().replace(",", " ").split())
        begins = [int(number) for number in file.readline().split()]
        columns = [int(number) for number in file.readline().split()]
    for first in range(0, rows, SIZE):
        found = {}
        for row in range(first, min(first + SIZE, rows)):
            for column in columns[begins[row]:begins[row + 1]]:
                block = found.setdefault(column // SIZE, [0] * SIZE)
                block[column % SIZE] |= 1 << (row - first)
        yield from found.values()


def fits(group):
    """Whether no row has more than two entries in the columns."""
    once = twice = thrice = 0
    for column in group:
        thrice |= twice & column
        twice |= once & column
        once |= column
    return thrice == 0


def fits_in_some_order(block, chance):
    for row in range(SIZE):
        if sum(column >> row & 1 for column in block) > MOST * GROUPS:
            return False
    for _ in range(ATTEMPTS):
        order = sorted(block, key=lambda column: (-column.bit_count(), chance.random()))
        groups = [[] for _ in range(GROUPS)]
        for column in order:
            free = [group for group in groups if len(group) < SIZE // GROUPS and fits(group + [column])]
            if not free:
                break
            # Where its rows meet the fewest entries.
            min(free, key=lambda group: (sum((column & other).bit_count() for other in group), len(group))).append(column)
        else:
            return True
    return False


def main():
    chance = random.Random(1)
    print("blocks  as they are  in some order  file")
    for path in sys.argv[1:]:
        blocks = list(blocks_of(path))
        plain = sum(all(fits(block[first:first + 4]) for first in range(0, SIZE, 4)) for block in blocks)
        ordered = sum(fits_in_some_order(block, chance) for block in blocks)
        count = max(1, len(blocks))
        print(f"{len(blocks):6} {100 * plain / count:10.1f} % {100 * ordered / count:12.1f} %  {path}", flush=True)


main()
