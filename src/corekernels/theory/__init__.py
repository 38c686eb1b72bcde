"""Means, variances and collision probabilities of the hashed CoRE kernels.

==============  ==============================================================
symbol          meaning
==============  ==============================================================
f1, f2          number of nonzeros of the two rows
a               number of columns where both are nonzero
rho             cosine of the two rows (not centred)
R               resemblance of their supports, a / (f1 + f2 - a)
k               number of hashes
b               bits kept of each location; None keeps them whole
n_locations     size of the space locations come from (`recipe.sketch.n_locations`)
shared_squares  sum of u_i^2 v_i^2 over the columns, for unit rows u and v
gamma           parameter of kernels with a factor exp(-gamma (1 - rho))
m, T            slots of a hash table's key, number of tables
C1, C2          Pr{codes equal} = C1 + (1 - C2) R
==============  ==============================================================

Pure formulas: arguments may be numbers or arrays that broadcast. They hold for
independent hashes; `change`, of `recipe.sketch.variance_change`, says how other schemes differ.

References
----------
Ping Li, "CoRE Kernels", UAI 2014. Ping Li and Arnd Christian König, "b-Bit minwise
hashing", WWW 2010. Xiaoyun Li and Ping Li, "C-MinHash", ICML 2022.
"""

from .aliasing import Aliasing, aliasing
from .pairs import (
    Pair,
    miss_rate,
    sign_collision,
    slot_collision,
    slots_allowed,
    variance_core1,
    variance_core2,
    variance_core_rbf,
    variance_resemblance,
)

__all__ = [
    "Aliasing", "Pair", "aliasing", "miss_rate", "sign_collision",
    "slot_collision", "slots_allowed", "variance_core1", "variance_core2", "variance_core_rbf",
    "variance_resemblance",
]  # fmt: skip
