"""Attributes, types and locations made through circt: short calls of a big binding.

The context is left before the program ends, so there is nothing to report.
"""
import sys

from circt.ir import (
    ArrayAttr,
    BoolAttr,
    Context,
    FloatAttr,
    F64Type,
    IntegerAttr,
    IntegerType,
    Location,
    StringAttr,
)

from work import measure


def attributes():
    i32, f64 = IntegerType.get_signless(32), F64Type.get()
    for number in range(200):
        value = IntegerAttr.get(i32, number)
        text = StringAttr.get("name")
        array = ArrayAttr.get([value, text, BoolAttr.get(True), FloatAttr.get(f64, 1.5)])
        assert len(array) == 4 and value.value == number and text.value == "name"
        IntegerType.get_signless(number + 1).width
        Location.file("file.mlir", number, 1)
        value.type == i32


with Context(), Location.unknown():
    measure(attributes, int(sys.argv[1]))
