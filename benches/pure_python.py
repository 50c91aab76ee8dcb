"""A loop in Python alone: functions, objects, dictionaries, text."""
import sys

from work import measure


class Point:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def moved(self, by):
        return Point(self.x + by, self.y - by)


def loop():
    counts = {}
    point = Point(0, 0)
    for number in range(2000):
        point = point.moved(number)
        word = f"{number % 97}:{point.x & 15}"
        counts[word] = counts.get(word, 0) + 1
    return sorted(counts.items(), key=lambda item: item[1])


measure(loop, int(sys.argv[1]))
