"""Keys and passwords that are known by their shape: what each is, and the pattern that finds it in a text."""

from __future__ import annotations

import re

KEY_SHAPES = {
    "a private key": re.compile(r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY-----"),
    "an AWS access key": re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
    "a GitHub token": re.compile(r"\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{50,})\b"),
    "a GitLab token": re.compile(r"\bglpat-[A-Za-z0-9_-]{20,}\b"),
    "a Slack token": re.compile(r"\bxox[abposr]-[A-Za-z0-9-]{10,}\b"),
    "a model provider's key": re.compile(r"\bsk-(?:ant-|proj-|or-)?[A-Za-z0-9_-]{20,}\b"),
    "a Google API key": re.compile(r"\bAIza[0-9A-Za-z_-]{35}\b"),
    "a Stripe key": re.compile(r"\b[rs]k_live_[0-9A-Za-z]{20,}\b"),
    "a Hugging Face token": re.compile(r"\bhf_[A-Za-z0-9]{30,}\b"),
    "a JSON web token": re.compile(
        r"(?<![\w-])eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}"
    ),
    "a password in an address": re.compile(
        r"\b[a-z][a-z0-9+]{1,15}://[^\s:/@\"'{]+:[^\s:/@\"'{]{6,}@[\w.-]+"
    ),
}
