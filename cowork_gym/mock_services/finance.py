"""Finance: a ledger of transactions, and reports on them."""

from decimal import Decimal
from typing import ClassVar, Literal

from typing_extensions import TypedDict

from cowork_gym.mock_services.kit import Caseless, Effect, Field, Json, Record, Service, ToolError, View, given, tool
from cowork_gym.mock_services.kit.money import from_minor, to_minor
from cowork_gym.mock_services.kit.types import Amount, Day, Ids, Text, Time

__all__ = ["Finance", "Report", "ReportSubmitted", "Transaction", "TransactionList"]


class Transaction(Record, table=True):
    """A booking."""

    money: ClassVar = {"amount": "currency"}
    transaction_id: str = Field(primary_key=True)
    date: Time
    amount: int
    currency: str | None = None
    description: str
    category: str | None = Field(default=None, sa_type=Caseless)
    type: str | None = None
    status: str | None = Field(default=None, sa_type=Caseless)
    customer_id: str | None = None


class Report(Record, table=True):
    """A report that was submitted."""

    money: ClassVar = {"total_amount": "currency"}
    report_id: str = Field(primary_key=True)
    title: str
    transactions: list[str] = Field(sa_type=Json)
    total_amount: int
    currency: str | None = None
    timestamp: str


class TransactionList(TypedDict):
    """Whole transactions, ordered by date and id."""

    transactions: list[View]
    total: int


class ReportSubmitted(TypedDict):
    """A report that went out."""

    status: Literal["submitted"]
    report: View


class Finance(Service):
    """Accounting: transactions with exact amounts, and reports on them."""

    name = "finance"
    tables = (Transaction, Report)

    @tool(Effect.READ)
    def list_transactions(
        self, start_date: Day | None = None, end_date: Day | None = None, min_amount: Amount | None = None, max_amount: Amount | None = None,
        status: Text | None = None, category: Text | None = None, customer_id: Text | None = None,
    ) -> TransactionList:
        """List transactions with every field, ordered by date. Without filters all are listed; several filters must all hold.

        Args:
            start_date: Only transactions on this day or later.
            end_date: Only transactions on this day or earlier, whatever the hour.
            min_amount: Only amounts of at least this number, whatever the currency.
            max_amount: Only amounts of at most this number, whatever the currency.
            status: Only transactions with this status, in any case, such as completed or pending.
            category: Only transactions of this category, in any case.
            customer_id: Only transactions with this customer.

        Raises:
            ToolError: A range ends before it starts.
        """
        if start_date and end_date and start_date > end_date:
            raise ToolError(f"start_date {start_date} is after end_date {end_date}")
        if min_amount is not None and max_amount is not None and min_amount > max_amount:
            raise ToolError(f"min_amount {min_amount} is more than max_amount {max_amount}")

        def within(row: Transaction) -> bool:
            day, amount = row.date[:10], from_minor(row.amount, row.currency or "")
            after, before = start_date is None or start_date <= day, end_date is None or day <= end_date
            return after and before and (min_amount is None or min_amount <= amount) and (max_amount is None or amount <= max_amount)

        rows = self.store.find(Transaction, order="date", **given(status=status, category=category, customer_id=customer_id))
        found = [Transaction.shown(row) for row in rows if within(row)]
        return {"transactions": found, "total": len(found)}

    @tool(Effect.READ)
    def get_transaction(self, transaction_id: str) -> View:
        """Get one transaction with every field on record.

        Args:
            transaction_id: The transaction's id, as finance_list_transactions gives it.
        """
        return Transaction.shown(self.store.get(Transaction, transaction_id))

    @tool(Effect.WRITE, audit="submitted_reports")
    def submit_report(self, title: Text, transactions: Ids, total_amount: Amount) -> ReportSubmitted:
        """Submit a report on transactions of one currency. It goes out at once and cannot be taken back.

        Nothing is submitted when an id is unknown, when currencies differ, or when the total is not exactly the sum of the amounts.

        Args:
            title: The report's title.
            transactions: The ids of the transactions, each once.
            total_amount: The exact sum of their amounts.

        Raises:
            ToolError: An id is unknown, currencies differ, or the total is not the sum.
        """
        rows = self.store.get_all(Transaction, transactions)
        currency, *others = sorted({(row.currency or "").upper() for row in rows})
        if others:
            named = ", ".join(one or "no currency" for one in [currency, *others])
            raise ToolError(f"a report has one currency, but the transactions are in {named}")
        if _minor(total_amount, currency) != sum(row.amount for row in rows):
            raise ToolError(f"total_amount {total_amount} is not the sum of the transactions' amounts")
        row = self.store.insert(
            Report, report_id=self.store.new_id("RPT"), title=title, transactions=transactions, total_amount=_minor(total_amount, currency),
            currency=currency or None, timestamp=self.stamp,
        )
        self.audit(Report.shown(row))
        return {"status": "submitted", "report": Report.shown(row)}


def _minor(amount: Decimal, currency: str) -> int:
    try:
        return to_minor(amount, currency)
    except ValueError as error:
        raise ToolError(f"total_amount: {error}") from None
