"""The commander: a local page on which a person commands an agent and watches it obey."""
