"""Readers of rows that lie in memory."""

from scipy import sparse

from corekernels import io


class Rows(io.RowReader):
    """Rows in memory, in batches of a given size; stops short if told to."""

    format = "memory"

    def __init__(self, X, y=None, size=7, name="rows.svm", fail_at=None):
        super().__init__(name)
        self.X, self.y, self.size = sparse.csr_array(X), y, size
        self.n_columns, self.fail_at = X.shape[1], fail_at

    def batches(self, first_row=0):
        for start in range(0, self.X.shape[0], self.size):
            if self.fail_at is not None and start >= self.fail_at:
                raise KeyboardInterrupt
            some = slice(start, start + self.size)
            y = None if self.y is None else self.y[some]
            yield io.Batch.of(self.X[some], y, start, start, self.name)
