"""numpy and scipy on arrays that are worth it: matrix product, FFT, sort, solvers."""
import sys

import numpy as np
import scipy.fft
import scipy.linalg
import scipy.sparse
import scipy.sparse.linalg

from work import measure

random = np.random.default_rng(7)
a, b = random.normal(size=(256, 256)), random.normal(size=(256, 256))
signal = random.normal(size=1 << 16)
laplacian = scipy.sparse.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(4096, 4096), format="csc")


def numeric():
    a @ b
    np.fft.rfft(signal)
    scipy.fft.dct(signal)
    np.sort(signal)
    scipy.linalg.solve(a, b[:, 0])
    scipy.linalg.svdvals(a[:96, :96])
    scipy.sparse.linalg.spsolve(laplacian, signal[:4096])
    laplacian @ signal[:4096]


measure(numeric, int(sys.argv[1]))
