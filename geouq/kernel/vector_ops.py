"""Several pixels at a time: vectors spelled out, where LLVM would find them only with a pass that numba leaves off."""

from collections.abc import Sequence
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

LANES, EIGHT, DOUBLE_BYTES = 4, 8, 8
DOUBLE, INDEX, WORD = ir.DoubleType(), ir.IntType(64), ir.IntType(32)
FUSED = ("contract",)
ROW = ir.VectorType(DOUBLE, LANES)


@intrinsic
def bits_of_single(_typing: Any, _number: Any) -> Any:
    """Return the bits of a number rounded to float32."""
    signature = types.uint32(types.float64)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001  numba's signature
        """Generate the instructions."""
        return builder.bitcast(builder.fptrunc(arguments[0], ir.FloatType()), WORD)

    return signature, generate


@intrinsic
def bits_of_double(_typing: Any, _number: Any) -> Any:
    """Return the bits of a double."""
    return types.int64(types.float64), _as_it_stands(INDEX)


@intrinsic
def double_of_bits(_typing: Any, _bits: Any) -> Any:
    """Return the double of these bits."""
    return types.float64(types.int64), _as_it_stands(DOUBLE)


def _as_it_stands(kind: Any) -> Any:
    """Return what makes code that takes the bits of a number for another type."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        """Generate the instructions."""
        return builder.bitcast(arguments[0], kind)

    return generate


def polynomial(coefficients: Sequence[float]) -> Any:
    """Return the polynomial with these coefficients, highest power first, spelled out.

    Even and odd powers have a chain each, so that they need not wait; products and sums may be rounded together.
    """

    @intrinsic
    def value(_typing: Any, _number: Any) -> Any:
        """Return the signature and the generator of the polynomial."""

        def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            """Generate the instructions."""
            (x,) = arguments
            square = builder.fmul(x, x)
            odd, even = (_chain(builder, square, coefficients[-2::-2]), _chain(builder, square, coefficients[::-2]))
            return builder.fadd(builder.fmul(odd, x, FUSED), even, FUSED)

        return types.float64(types.float64), generate

    return value


def _chain(builder: Any, x: Any, rising: Sequence[float]) -> Any:
    """Return a polynomial whose lowest power comes first, by Horner's rule."""
    *lower, total = (ir.Constant(DOUBLE, coefficient) for coefficient in rising)
    for coefficient in reversed(lower):
        total = builder.fadd(builder.fmul(total, x, FUSED), coefficient, FUSED)
    return total


@intrinsic
def prefetch(_typing: Any, source: Any, start: Any) -> Any:
    """Ask for the memory of an array from `start` on, which may lie beyond its end, before it is needed."""
    signature = types.void(source, start)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        """Generate the instructions."""
        kinds = signature.args
        place = context.cast(builder, arguments[1], kinds[1], types.int64)
        pointer = builder.gep(_data(context, builder, kinds[0], arguments[0]), [place])
        byte = builder.bitcast(pointer, ir.IntType(8).as_pointer())
        numbers = [ir.Constant(WORD, number) for number in (0, 2, 1)]  # to read, into the second cache, data
        kind = ir.FunctionType(ir.VoidType(), [byte.type, WORD, WORD, WORD])
        insert: Any = cgutils.get_or_insert_function
        function = insert(builder.module, kind, "llvm.prefetch.p0i8")
        builder.call(function, [byte, *numbers])
        return context.get_dummy_value()

    return signature, generate


@intrinsic
def valid_eight(_typing: Any, mean: Any, variance: Any, truth: Any, start: Any, nodata: Any) -> Any:
    """Which of the eight pixels from `start` on are valid, as `validity.is_valid` has it; the first in the lowest bit.

    nodata : of mean, variance and truth, a tuple of numbers of the arrays' types.
    """
    signature = types.uint64(mean, variance, truth, start, nodata)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        """Generate the instructions."""
        kinds = signature.args
        first = context.cast(builder, arguments[3], kinds[3], types.int64)
        unpack: Any = cgutils.unpack_tuple
        missing = unpack(builder, arguments[4], 3)
        flags = ir.Constant(ir.VectorType(ir.IntType(1), EIGHT), [1] * EIGHT)
        for kind, array, number, lowest in zip(kinds, arguments, missing, ("-inf", "0.0", "-inf"), strict=False):
            values = _eight(context, builder, kind, array, first)
            for test, limit in ((">", _eights(values, float(lowest))), ("<", _eights(values, float("inf")))):
                flags = builder.and_(flags, builder.fcmp_ordered(test, values, limit))
            nodata_eight = _repeated(builder, number, EIGHT)
            flags = builder.and_(flags, builder.fcmp_unordered("!=", values, nodata_eight))
        return _as_bits(builder, flags)

    return signature, generate


@intrinsic
def zero_eight(_typing: Any, array: Any, start: Any) -> Any:
    """Return which of eight integers from `start` on are 0, the first in the lowest bit."""
    signature = types.uint64(array, start)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        """Generate the instructions."""
        first = context.cast(builder, arguments[1], signature.args[1], types.int64)
        values = _eight(context, builder, signature.args[0], arguments[0], first)
        return _as_bits(builder, builder.icmp_unsigned("==", values, _eights(values, 0)))

    return signature, generate


@intrinsic
def copy_eight(_typing: Any, source: Any, start: Any, target: Any, to: Any) -> Any:
    """Copy eight numbers of a array, from `start` on, to another of the same type, from `to` on."""
    signature = types.void(source, start, target, to)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        """Generate the instructions."""
        kinds = signature.args
        place, to = (context.cast(builder, arguments[i], kinds[i], types.int64) for i in (1, 3))
        values = _eight(context, builder, kinds[0], arguments[0], place)
        end = builder.gep(_data(context, builder, kinds[2], arguments[2]), [to])
        builder.store(values, builder.bitcast(end, values.type.as_pointer()), align=_bytes(kinds[2]))
        return context.get_dummy_value()

    return signature, generate


@intrinsic
def add_rows(_typing: Any, table: Any, rows: Any, start: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    """Add (a[i], b[i], c[i], d[i]) to table[rows[i]] for the four pixels i from `start` on, one after the other.

    table : float64 (rows, 4), contiguous; rows : uint32; a, b, c, d : float32 or float64 arrays, or one number for all
    four pixels.
    """
    signature = types.void(table, rows, start, a, b, c, d)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        """Generate the instructions."""
        kinds = signature.args
        target, chosen = (_data(context, builder, kinds[i], arguments[i]) for i in (0, 1))
        first = context.cast(builder, arguments[2], kinds[2], types.int64)
        columns = [
            _column(context, builder, kind, value, first) for kind, value in zip(kinds[3:], arguments[3:], strict=True)
        ]
        for lane, row in enumerate(_transposed(builder, columns)):
            number = builder.load(builder.gep(chosen, [builder.add(first, ir.Constant(INDEX, lane))]))
            pointer = _row(builder, target, builder.zext(number, INDEX))
            before = builder.load(pointer, align=DOUBLE_BYTES)
            builder.store(builder.fadd(before, row), pointer, align=DOUBLE_BYTES)
        return context.get_dummy_value()

    return signature, generate


@intrinsic
def add_to_bins(_typing: Any, table: Any, first: Any, bins: Any, p: Any, weight: Any, start: Any) -> Any:
    """Add (w, w p, w p^2) to the rows of the bins of four shares p from `start` on, one after the other.

    table : as for `add_rows`, of which each bin has `EIGHT` rows, for eight neighbours; first : bin of the lowest
    shares; bins : how many there are, of equal width, the last one closed.
    """
    signature = types.void(table, first, bins, p, weight, start)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        """Generate the instructions."""
        kinds = signature.args
        target, place = _data(context, builder, kinds[0], arguments[0]), arguments[5]
        place = context.cast(builder, place, kinds[5], types.int64)
        lowest, count = (context.cast(builder, arguments[i], kinds[i], types.int64) for i in (1, 2))
        shares, weights = (_column(context, builder, kinds[i], arguments[i], place) for i in (3, 4))
        number = _bin_of(builder, shares, _repeated(builder, builder.sitofp(count, DOUBLE), LANES))
        first_moment = builder.fmul(weights, shares)
        columns = [weights, first_moment, builder.fmul(first_moment, shares), ir.Constant(ROW, [0.0] * LANES)]
        for lane, row in enumerate(_transposed(builder, columns)):
            own = builder.zext(builder.extract_element(number, ir.Constant(WORD, lane)), INDEX)
            own = builder.mul(builder.add(lowest, own), ir.Constant(INDEX, EIGHT))
            beside = builder.and_(builder.add(place, ir.Constant(INDEX, lane)), ir.Constant(INDEX, EIGHT - 1))
            pointer = _row(builder, target, builder.add(own, beside))
            before = builder.load(pointer, align=DOUBLE_BYTES)
            builder.store(builder.fadd(before, row), pointer, align=DOUBLE_BYTES)
        return context.get_dummy_value()

    return signature, generate


def _bin_of(builder: Any, shares: Any, count: Any) -> Any:
    """Return the bins of four shares."""
    scaled, last = builder.fmul(shares, count), builder.fsub(count, ir.Constant(ROW, [1.0] * LANES))
    within = builder.select(builder.fcmp_ordered("<", scaled, last), scaled, last)
    return builder.fptosi(within, ir.VectorType(WORD, LANES))


@intrinsic
def add_intervals(
    _typing: Any, ends: Any, step: Any, level: Any, t: Any, std: Any, away: Any, weight: Any, sums: Any, row: Any
) -> Any:
    """Add the intervals of one pixel at four levels to a row of sums.

    ends : float64 (steps, 4, 2 M), contiguous; coefficients of cubics in t, of M lower ends and M upper ones, in std
    from the mean. level : the first of the four. away : of the truth from the mean. sums : float64 (rows, 8), for four
    widths, and for how far the truth is outside of each.
    """
    signature = types.void(ends, step, level, t, std, away, weight, sums, row)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        """Generate the instructions."""
        kinds = signature.args
        step, level, row = (context.cast(builder, arguments[i], kinds[i], types.int64) for i in (1, 2, 8))
        t, std, away, weight = (_repeated(builder, arguments[i], LANES) for i in (3, 4, 5, 6))
        table = context.make_array(kinds[0])(context, builder, arguments[0])
        columns = builder.extract_value(table.shape, 2)
        middle = builder.udiv(columns, ir.Constant(INDEX, 2))
        low, high = (
            builder.fmul(std, _cubic(builder, table.data, columns, step, builder.add(level, first), t))
            for first in (ir.Constant(INDEX, 0), middle)
        )
        zero = ir.Constant(ROW, [0.0] * LANES)
        below, above = (builder.fsub(*pair) for pair in ((low, away), (away, high)))
        missed = [builder.select(builder.fcmp_ordered(">", own, zero), own, zero) for own in (below, above)]
        found = builder.fsub(high, low), builder.fadd(*missed)
        target = _data(context, builder, kinds[7], arguments[7])
        for k, own in enumerate(found):
            place = builder.add(builder.mul(row, ir.Constant(INDEX, 2)), ir.Constant(INDEX, k))
            pointer = _row(builder, target, place)
            before = builder.load(pointer, align=DOUBLE_BYTES)
            total = builder.fadd(before, builder.fmul(weight, own, FUSED), FUSED)
            builder.store(total, pointer, align=DOUBLE_BYTES)
        return context.get_dummy_value()

    return signature, generate


def _cubic(builder: Any, table: Any, columns: Any, step: Any, column: Any, t: Any) -> Any:
    """Return four cubics side by side at a step of a table, whose rows hold the coefficients of one power each."""
    rows = []
    for power in range(LANES):
        number = builder.add(builder.mul(step, ir.Constant(INDEX, LANES)), ir.Constant(INDEX, power))
        place = builder.add(builder.mul(number, columns), column)
        pointer = builder.bitcast(builder.gep(table, [place]), ROW.as_pointer())
        rows.append(builder.load(pointer, align=DOUBLE_BYTES))
    total = rows.pop()
    while rows:
        total = builder.fadd(builder.fmul(total, t, FUSED), rows.pop(), FUSED)
    return total


@intrinsic
def move_row(_typing: Any, source: Any, row: Any, first: Any, first_row: Any, second: Any, second_row: Any) -> Any:
    """Add source[row] to first[first_row] and to second[second_row], and clear it; tables as for `add_rows`."""
    signature = types.void(source, row, first, first_row, second, second_row)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        """Generate the instructions."""
        kinds = signature.args
        pointers = [
            _row(builder, _data(context, builder, kinds[i], arguments[i]), arguments[i + 1]) for i in range(0, 6, 2)
        ]
        rows = [builder.load(pointer, align=DOUBLE_BYTES) for pointer in pointers]
        values = [ir.Constant(ROW, [0.0] * LANES), *(builder.fadd(row, rows[0]) for row in rows[1:])]
        for value, pointer in zip(values, pointers, strict=True):
            builder.store(value, pointer, align=DOUBLE_BYTES)
        return context.get_dummy_value()

    return signature, generate


@intrinsic
def move_rows(_typing: Any, source: Any, start: Any, stop: Any, first: Any, second: Any, second_row: Any) -> Any:
    """Add source[start:stop] to first[start:stop] and their sum to second[second_row], and clear them.

    Tables as for `add_rows`. The sum stays in registers: one row that is written again and again has to be waited for.
    """
    signature = types.void(source, start, stop, first, second, second_row)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        """Generate the instructions."""
        kinds = signature.args
        tables = [_data(context, builder, kinds[i], arguments[i]) for i in (0, 3, 4)]
        sum_place = _row(builder, tables[2], arguments[5])
        kept_in_register: Any = cgutils.alloca_once_value
        total = kept_in_register(builder, builder.load(sum_place, align=DOUBLE_BYTES))
        with cgutils.for_range_slice(builder, arguments[1], arguments[2], ir.Constant(INDEX, 1)) as (number, _):
            own, into = (_row(builder, table, number) for table in tables[:2])
            row = builder.load(own, align=DOUBLE_BYTES)
            builder.store(builder.fadd(builder.load(into, align=DOUBLE_BYTES), row), into, align=DOUBLE_BYTES)
            builder.store(builder.fadd(builder.load(total), row), total)
            builder.store(ir.Constant(ROW, [0.0] * LANES), own, align=DOUBLE_BYTES)
        builder.store(builder.load(total), sum_place, align=DOUBLE_BYTES)
        return context.get_dummy_value()

    return signature, generate


def _row(builder: Any, table: Any, number: Any) -> Any:
    """Return the pointer to a row of a table, as a vector."""
    place = builder.mul(number, ir.Constant(INDEX, LANES))
    return builder.bitcast(builder.gep(table, [place]), ROW.as_pointer())


def _data(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    return context.make_array(kind)(context, builder, value).data


def _bytes(kind: Any) -> int:
    """Return the bytes of a number of an array."""
    return int(kind.dtype.bitwidth) // 8


def _eight(context: Any, builder: Any, kind: Any, array: Any, first: Any) -> Any:
    """Return the eight numbers of an array as a vector."""
    pointer = builder.gep(_data(context, builder, kind, array), [first])
    vector = ir.VectorType(pointer.type.pointee, EIGHT).as_pointer()
    return builder.load(builder.bitcast(pointer, vector), align=_bytes(kind))


def _eights(values: Any, number: float) -> Any:
    """Return a number eight times, of the type of a vector."""
    return ir.Constant(values.type, [number] * EIGHT)


def _as_bits(builder: Any, flags: Any) -> Any:
    """Return the eight flags as the lowest bits of an integer."""
    return builder.zext(builder.bitcast(flags, ir.IntType(EIGHT)), INDEX)


def _repeated(builder: Any, number: Any, times: int) -> Any:
    """Return a vector of a number."""
    empty = ir.Constant(ir.VectorType(number.type, times), ir.Undefined)
    single = builder.insert_element(empty, number, ir.Constant(WORD, 0))
    return builder.shuffle_vector(single, single, _mask(*[0] * times))


def _column(context: Any, builder: Any, kind: Any, value: Any, first: Any) -> Any:
    """Return the four numbers of a column as a vector."""
    if isinstance(kind, types.Float):
        return _repeated(builder, value, LANES)
    pointer = builder.gep(_data(context, builder, kind, value), [first])
    vector = ir.VectorType(pointer.type.pointee, LANES).as_pointer()
    loaded = builder.load(builder.bitcast(pointer, vector), align=_bytes(kind))
    return loaded if kind.dtype == types.float64 else builder.fpext(loaded, ROW)


def _transposed(builder: Any, columns: list[Any]) -> list[Any]:
    """Return the four vectors of a column each as four vectors of a pixel each."""
    a, b, c, d = columns
    pairs = [
        (builder.shuffle_vector(a, b, mask), builder.shuffle_vector(c, d, mask))
        for mask in (_mask(0, 4, 2, 6), _mask(1, 5, 3, 7))
    ]
    return [builder.shuffle_vector(*pair, mask) for mask in (_mask(0, 1, 4, 5), _mask(2, 3, 6, 7)) for pair in pairs]


def _mask(*lanes: int) -> Any:
    return ir.Constant(ir.VectorType(WORD, len(lanes)), [ir.Constant(WORD, lane) for lane in lanes])
