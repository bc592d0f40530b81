"""Prints the screen of pyte after the bytes on stdin, as JSON: pyte-screen.py COLUMNS ROWS"""

import json
import sys

import pyte

screen = pyte.Screen(int(sys.argv[1]), int(sys.argv[2]))
pyte.ByteStream(screen).feed(sys.stdin.buffer.read())
# The second cell of a wide character is empty.
lines = ["".join(screen.buffer[row][column].data for column in range(screen.columns)) for row in range(screen.lines)]
print(json.dumps({"lines": lines, "row": screen.cursor.y, "column": screen.cursor.x}))
