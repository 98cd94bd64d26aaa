"""What an invoice must add up to."""

import unittest

from invoices import Invoice, Line


class InvoiceTest(unittest.TestCase):
    def test_sum_of_lines(self) -> None:
        invoice = Invoice("Ada")
        invoice.add(Line("paper", quantity=2, price=450))
        invoice.add(Line("ink", quantity=1, price=1999))
        self.assertEqual(invoice.total(), 2899)

    def test_a_discount_is_rounded_to_the_nearest_cent(self) -> None:
        self.assertEqual(Line("pen", quantity=1, price=197, discount=20).total(), 158)

    def test_half_a_cent_is_rounded_up(self) -> None:
        self.assertEqual(Line("pin", quantity=1, price=5, discount=50).total(), 3)


if __name__ == "__main__":
    unittest.main()
