"""The exception family: everything raised on purpose is a `CoREError`.

A message names the argument or file, the place in it, what was found there and
what to do about it.
"""


class CoREError(Exception):
    """Base of all errors raised by corekernels.

    Examples
    --------
    >>> import corekernels as ck
    >>> issubclass(ck.errors.DataError, ck.errors.CoREError)
    True
    """


class DataError(CoREError, ValueError):
    """Rows that cannot be used: not finite, not numeric, of the wrong shape.

    Examples
    --------
    >>> import corekernels as ck
    >>> try:
    ...     _ = ck.core1([[1.0, float("nan")]])
    ... except ck.errors.DataError as error:
    ...     print(error)
    X: row 0 contains NaN; fill or drop such values first.
    """


class DataTypeError(DataError, TypeError):
    """An array, or an element of one, is of a kind that holds no numbers.

    Examples
    --------
    >>> import corekernels as ck
    >>> try:
    ...     _ = ck.core1([[{}]])
    ... except ck.errors.DataTypeError as error:
    ...     print(error)
    X: values are of type object; pass real numbers.
    """


class ParameterError(CoREError, ValueError):
    """An argument is out of its range or names something unknown.

    Examples
    --------
    >>> import corekernels as ck
    >>> try:
    ...     _ = ck.CoREHasher("cosine").fit([[1.0]])
    ... except ck.errors.ParameterError as error:
    ...     print(error)
    kernel: got 'cosine'; choose one of resemblance, core1, core2, core_rbf.
    """


class FileError(CoREError, OSError):
    """A file cannot be read or written.

    Examples
    --------
    >>> import corekernels as ck
    >>> try:
    ...     _ = ck.load_model("nowhere.ck")
    ... except ck.errors.FileError as error:
    ...     print(error)
    nowhere.ck: does not exist; check the name.
    """


class MissingExtra(CoREError, ImportError):
    """A part that comes with an optional extra is not installed.

    Examples
    --------
    >>> import corekernels as ck
    >>> issubclass(ck.errors.MissingExtra, ImportError)
    True
    """


class RecipeMismatch(CoREError, ValueError):
    """Signatures that were not hashed alike cannot be compared.

    Examples
    --------
    >>> import corekernels as ck
    >>> hashers = [ck.CoREHasher(n_hashes=k, random_state=0).fit([[1.0]]) for k in (8, 16)]
    >>> S, T = (hasher.sketch([[1.0]]) for hasher in hashers)
    >>> try:
    ...     _ = S.estimate_pairs([0], [0], T)
    ... except ck.errors.RecipeMismatch as error:
    ...     print(error)
    recipes differ in n_hashes 8 and 16; hash both sides with one hasher.
    """

    def __init__(self, first: object, second: object) -> None:
        fields = [
            f"{name} {value!r} and {getattr(second, name)!r}"
            for name, value in vars(first).items()
            if value != getattr(second, name)
        ]
        remedy = "hash both sides with one hasher"
        if len(fields) == 1 and fields[0].startswith("n_columns "):
            remedy = "say the same n_columns for both"
        super().__init__(f"recipes differ in {', '.join(fields)}; {remedy}.")


class DenseRowsWarning(UserWarning):
    """Rows without zeros, in which resemblance sees nothing: splines of the columns come first.

    Examples
    --------
    >>> import warnings
    >>> import corekernels as ck
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     _ = ck.CoREHasher().fit([[1.0, 2.0]] * 100)
    >>> [warning.category.__name__ for warning in caught]
    ['DenseRowsWarning']
    """
