"""Numbers looked up in a sorted list, with a directory by their upper bits."""

from ..compilation import loop

NOT_THERE = -1


@loop
def fill_directory(numbers, shift, out):
    """Write where the numbers with each value of their upper bits begin; the last is the end."""
    place = 0
    for upper in range(out.shape[0] - 1):
        out[upper] = place
        while place < numbers.shape[0] and numbers[place] >> shift == upper:
            place += 1
    out[out.shape[0] - 1] = place


@loop
def look_up(wanted, numbers, shift, directory, out):
    """Write the place of each wanted number among the others, or NOT_THERE."""
    for i in range(wanted.shape[0]):
        upper = wanted[i] >> shift
        low, high = directory[upper], directory[upper + 1]
        while low < high:
            middle = (low + high) >> 1
            if numbers[middle] < wanted[i]:
                low = middle + 1
            else:
                high = middle
        is_there = low < directory[upper + 1] and numbers[low] == wanted[i]
        out[i] = low if is_there else NOT_THERE
