from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal

@dataclass
class Line:
    """One line of an invoice."""

    name: str
    price: str
    count: int = 1

@dataclass(frozen=True)
class _Total:
    net: Decimal
    tax: Decimal = field(default=Decimal(0))

    @property
    def gross(self) -> Decimal:
        return self.net + self.tax

def _cents(value: Decimal) -> Decimal:
    return value.quantize(Decimal("0.01"), rounding=ROUND_HALF_UP)

def invoice_total(lines: list[Line], tax_percent: float = 19.0, discount_percent: float = 0.0) -> dict[str, str]:
    """Net, tax and gross of an invoice.

    Args:
        lines: What is charged, with prices as decimal texts.
        tax_percent: Tax on the net sum.
        discount_percent: Taken off the net sum first.

    Raises:
        ValueError: A count is negative.
    """
    if any(line.count < 0 for line in lines):
        raise ValueError("a count is negative")
    net = sum((Decimal(line.price) * line.count for line in lines), Decimal(0))
    net = _cents(net * (100 - Decimal(str(discount_percent))) / 100)
    total = _Total(net, _cents(net * Decimal(str(tax_percent)) / 100))
    return {"net": str(total.net), "tax": str(total.tax), "gross": str(total.gross)}


DESCRIPTION = "Sums up an invoice with discounts and tax in exact decimals."
EXAMPLES = [{'arguments': {'lines': [{'name': 'pen', 'price': '1.05', 'count': 3},
                          {'name': 'book', 'price': '12.50'}]},
  'expected': {'net': '15.65', 'tax': '2.97', 'gross': '18.62'}},
 {'arguments': {'lines': [{'name': 'a', 'price': '0.335', 'count': 1}],
                'tax_percent': 7.0,
                'discount_percent': 10.0},
  'expected': {'net': '0.30', 'tax': '0.02', 'gross': '0.32'}},
 {'arguments': {'lines': []}, 'expected': {'net': '0.00', 'tax': '0.00', 'gross': '0.00'}},
 {'arguments': {'lines': [{'name': 'x', 'price': '1', 'count': -1}]}, 'raises': 'ValueError'}]
