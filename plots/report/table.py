"""A table of a page, which can be sorted in the browser."""
from dataclasses import dataclass, field

# A page with more rows would be slow to open and to sort. It counts the omitted rows and names the remedy.
MOST_ROWS = 1000
MOST_CELLS = 30000


@dataclass(frozen=True)
class Column:
    heading: str
    help: str = ""  # shown when the pointer rests on the heading
    is_number: bool = False
    is_extra: bool = False  # shown on demand

    def css(self, mark: str = "") -> str:
        """Returns the CSS classes of a cell with this mark."""
        return " ".join(name for name in ("n" * self.is_number, "extra" * self.is_extra, mark) if name)


@dataclass(frozen=True)
class Cell:
    text: str
    detail: str = ""  # smaller text behind the cell's text
    number: float | None = None  # sort key, if it is not the text
    mark: str = ""  # "good", "warn", "bad"

    def sort_key(self) -> str:
        return "" if self.number is None else f"{self.number:.9g}"


@dataclass
class Table:
    """A table with an `id` that is unique in the page. Each row has a cell for each column."""
    id: str
    caption: str
    columns: list[Column]
    rows: list[list[Cell]] = field(default_factory=list)
    remedy: str = ""  # where all rows can be found

    def shown(self) -> list[list[Cell]]:
        by_cells = max(1, MOST_CELLS // max(1, len(self.columns)))
        return self.rows[:min(MOST_ROWS, by_cells)]

    def extra_columns(self) -> int:
        return sum(column.is_extra for column in self.columns)


def number_of(value: object) -> float | None:
    """Returns the number of a JSON number, and None for anything else, including true and false."""
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None
