"""An event-sourced ledger of agent runs."""
