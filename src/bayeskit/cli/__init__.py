"""The edge where people stand: commands."""
