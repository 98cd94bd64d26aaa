"""Invoices: lines with a quantity, a price in cents and a discount in percent."""

from dataclasses import dataclass, field


@dataclass
class Line:
    description: str
    quantity: int
    price: int
    discount: int = 0

    def total(self) -> int:
        """The price of the line in cents, after the discount, rounded to the nearest cent."""
        return int(self.quantity * self.price * (100 - self.discount) / 100)


@dataclass
class Invoice:
    customer: str
    lines: list[Line] = field(default_factory=list)

    def add(self, line: Line) -> None:
        self.lines.append(line)

    def total(self) -> int:
        """The sum of the lines in cents."""
        return sum(line.total() for line in self.lines)
