"""The CRM: customers, and reports that leave the house."""

from decimal import Decimal
from typing import Literal, NotRequired

from typing_extensions import TypedDict

from cowork_gym.mock_services.kit import Caseless, Effect, Exact, Field, Json, Record, Service, View, given, summary, tool
from cowork_gym.mock_services.kit.types import Ids, Text

__all__ = ["CRM", "Customer", "CustomerList", "CustomerSummary", "Report", "ReportExported"]


class Customer(Record, table=True):
    """A customer account."""

    customer_id: str = Field(primary_key=True)
    name: str
    contact_person: str | None = None
    email: str | None = None
    phone: str | None = None
    industry: str | None = Field(default=None, sa_type=Caseless)
    tier: str | None = Field(default=None, sa_type=Caseless)
    annual_revenue: Decimal | None = Field(default=None, sa_type=Exact)
    status: str = Field(default="active", sa_type=Caseless)
    last_contact_date: str | None = None
    notes: str | None = None


class Report(Record, table=True):
    """Customer data that was exported."""

    report_id: str = Field(primary_key=True)
    title: str
    customer_ids: list[str] = Field(sa_type=Json)
    summary: str
    timestamp: str


class CustomerSummary(TypedDict):
    """What the list shows of a customer."""

    customer_id: str
    name: str
    contact_person: NotRequired[str]
    industry: NotRequired[str]
    tier: NotRequired[str]
    annual_revenue: NotRequired[Decimal]
    status: str


class CustomerList(TypedDict):
    """Customers, ordered by id."""

    customers: list[CustomerSummary]
    total: int


class ReportExported(TypedDict):
    """An export that went out."""

    status: Literal["exported"]
    report: View


class CRM(Service):
    """Customer relations: accounts with tier, status and notes."""

    name = "crm"
    tables = (Customer, Report)

    @tool(Effect.READ)
    def list_customers(self, status: Text | None = None, tier: Text | None = None, industry: Text | None = None) -> CustomerList:
        """List customers in short form, ordered by id. Without filters all are listed; several filters must all hold.

        Filters match a whole value in any case. crm_get_customer has contact data, notes and every other field.

        Args:
            status: Only customers with this status, such as active, at_risk or churned.
            tier: Only customers of this tier, such as vip or standard.
            industry: Only customers of this industry.
        """
        rows = self.store.find(Customer, **given(status=status, tier=tier, industry=industry))
        return {"customers": [summary(CustomerSummary, Customer.shown(row)) for row in rows], "total": len(rows)}

    @tool(Effect.READ)
    def get_customer(self, customer_id: str) -> View:
        """Get one customer with every field on record.

        Args:
            customer_id: The customer's id, as crm_list_customers gives it.
        """
        return Customer.shown(self.store.get(Customer, customer_id))

    @tool(Effect.WRITE, audit="exported_reports")
    def export_report(self, title: Text, customer_ids: Ids, summary: Text) -> ReportExported:
        """Export a report on customers. Their data leaves the CRM, and this cannot be undone.

        Nothing is exported when an id is unknown.

        Args:
            title: The report's title.
            customer_ids: The customers that the report is about, each once.
            summary: The report's text.

        Raises:
            ToolError: An id is unknown.
        """
        self.store.get_all(Customer, customer_ids)
        row = self.store.insert(
            Report, report_id=self.store.new_id("REP"), title=title, customer_ids=customer_ids, summary=summary, timestamp=self.stamp,
        )
        self.audit(Report.shown(row))
        return {"status": "exported", "report": Report.shown(row)}
