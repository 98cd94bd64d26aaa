"""A browser, with a real Chromium and pages of our own."""
