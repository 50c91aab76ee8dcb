"""numpy on arrays of a few items: the calls cost more than the numbers."""
import sys

import numpy as np

from work import measure


def small_arrays():
    a, b = np.arange(4.0), np.ones(4)
    for _ in range(1000):
        c = np.add(a, b)
        c += a
        d = c[1:3]
        d[0] = c[2].item()
        e = np.array([1.0, 2.0, 3.0])
        float(e[1]) + float(e.sum())
        np.concatenate((a, d)).reshape(2, 3).T
        (a > b).any()


measure(small_arrays, int(sys.argv[1]))
