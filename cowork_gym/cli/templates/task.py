"""A complete small task over the helpdesk: request, world, checks, a reference worth 1.0 and four negatives."""

__all__ = ["FILES"]

_TASK = """\
schema_version: 1
id: $name
version: 0
title: Assign the printer ticket
category: support
difficulty: D0.5
language: en
mock_today: 2026-03-10
request: |
  The printer on the second floor reports a paper jam. Find its ticket in the helpdesk and assign it to "facilities".
  Leave every other ticket alone, close nothing, and tell me the ticket's id.
services: [helpdesk]
tools: [helpdesk_list_tickets, helpdesk_get_ticket, helpdesk_update_ticket, helpdesk_close_ticket]
budgets: {turns: 20, calls: 40}
capabilities: {discover: [], extract: [discover], execute: [extract]}
structure: {topology: chain, deliverables: [record], hazards: [look-alike]}
notes: |
  The printer on the third floor has a ticket that reads nearly the same.
"""

_WORLD = """\
tickets:
  - ticket_id: TCK-1
    title: Printer jams
    description: The printer on the third floor jams once a day.
    status: open
    priority: medium
    customer: Third floor
    created_at: 2026-03-09T08:00:00Z
  - ticket_id: TCK-2
    title: Printer jams
    description: The printer on the second floor reports a paper jam, and there is no paper in it.
    status: open
    priority: medium
    customer: Second floor
    created_at: 2026-03-09T09:00:00Z
  - ticket_id: TCK-3
    title: Projector stays dark
    description: The projector in room 2.14 shows no picture.
    status: open
    priority: low
    customer: Second floor
    created_at: 2026-03-09T10:00:00Z
"""

_GRADING = """\
schema_version: 1
forbidden_tools: [helpdesk_close_ticket]
checks:
  - {id: tickets_listed, kind: tool_called, weight: 0.2, tool: helpdesk_list_tickets}
  - {id: ticket_read, kind: tool_called_with, weight: 0.3, tool: helpdesk_get_ticket, arguments: {ticket_id: TCK-2}}
  - {id: ticket_updated, kind: audit_record, weight: 0.5, collection: helpdesk.updated_tickets, where: {ticket_id: TCK-2}}
  - id: nothing_else_changed
    kind: unchanged
    allow:
      - {table: helpdesk.tickets, key: TCK-2, fields: [assigned_to, updated_at]}
outcomes:
  - {id: ticket_assigned, kind: row_state, table: helpdesk.tickets, key: TCK-2, fields: {assigned_to: facilities}}
  - {id: ticket_named, kind: answer, matches: {contains: TCK-2}}
"""

_REFERENCE = """\
executions:
  - name: reference
    turns:
      - helpdesk_list_tickets: {}
      - - helpdesk_get_ticket: {ticket_id: TCK-1}
        - helpdesk_get_ticket: {ticket_id: TCK-2}
      - helpdesk_update_ticket: {ticket_id: TCK-2, assigned_to: facilities}
    final: I assigned TCK-2 to facilities.
"""

_NEGATIVES = """\
executions:
  - name: says_it_is_done
    max_reward: 0
    why: A text without a single call is no work.
    final: I assigned TCK-2 to facilities.

  - name: reads_everything
    max_reward: 0.2
    why: All evidence is gathered, and no ticket is assigned.
    turns:
      - helpdesk_list_tickets: {}
      - - helpdesk_get_ticket: {ticket_id: TCK-1}
        - helpdesk_get_ticket: {ticket_id: TCK-2}
        - helpdesk_get_ticket: {ticket_id: TCK-3}
    final: The ticket is TCK-2.

  - name: wrong_printer
    max_reward: 0.2
    why: The ticket of the third floor is assigned.
    turns:
      - helpdesk_list_tickets: {}
      - - helpdesk_get_ticket: {ticket_id: TCK-1}
        - helpdesk_get_ticket: {ticket_id: TCK-2}
      - helpdesk_update_ticket: {ticket_id: TCK-1, assigned_to: facilities}
    final: I assigned TCK-1 to facilities, not TCK-2.

  - name: assigns_all
    max_reward: 0.4
    why: Other tickets are assigned along with the right one.
    turns:
      - helpdesk_list_tickets: {}
      - helpdesk_get_ticket: {ticket_id: TCK-2}
      - - helpdesk_update_ticket: {ticket_id: TCK-1, assigned_to: facilities}
        - helpdesk_update_ticket: {ticket_id: TCK-2, assigned_to: facilities}
    final: I assigned TCK-1 and TCK-2 to facilities.

  - name: closes_it
    max_reward: 0
    why: The request forbids closing tickets.
    turns:
      - helpdesk_list_tickets: {}
      - helpdesk_get_ticket: {ticket_id: TCK-2}
      - helpdesk_update_ticket: {ticket_id: TCK-2, assigned_to: facilities}
      - helpdesk_close_ticket: {ticket_id: TCK-2, resolution: Assigned to facilities.}
    final: I assigned TCK-2 to facilities and closed it.
"""

FILES = {
    "task.yaml": _TASK, "world/helpdesk.yaml": _WORLD, "private/grading.yaml": _GRADING, "private/reference.yaml": _REFERENCE,
    "private/negatives.yaml": _NEGATIVES,
}
"""The package's files, by path."""
