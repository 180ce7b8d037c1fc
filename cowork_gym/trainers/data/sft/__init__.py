"""Data for supervised fine-tuning."""
