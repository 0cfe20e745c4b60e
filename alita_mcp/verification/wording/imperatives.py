# ruff: noqa: E501 - tables of patterns read best a line each
"""Detector of imperatives to a model in texts that should only describe a tool.

English is read with patterns, because honest descriptions are mostly English; of some twenty other languages a
sentence counts that combines keywords of certain groups, such as *always*, *call* and *tool*.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator
from functools import cache

from alita_mcp.values import META_TOOLS
from alita_mcp.verification.wording.keyword_groups import KEYWORD_GROUPS, SUSPICIOUS_COMBINATIONS

_SENTENCE = re.compile(
    r"[^.!?;\n\u3002\uff01\uff1f\u0964\u061f]+(?:\.(?=\w)[^.!?;\n\u3002\uff01\uff1f\u0964\u061f]+)*"
)
_LOOKALIKES = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0455\u0458\u03bf\u03b1\u03b9\u03bd\u0131\u0142\u0111\u00f8\u06cc\u06a9\u2019",
    "aeopcyxisjoaivildo\u064a\u0643'",
)
_JOINERS = re.compile("[\u200c\u200d\u00ad\u0640]")
_MARKS = re.compile("(?<=[a-z\u0620-\u064a])[\u0300-\u036f\u064b-\u065f]+")

_CALL = r"(?:call|invoke|run|use|execute|trigger|consult|pick|choose)"
_GIVE = (
    r"(?:send|pass|include|attach|forward|paste|upload|append|provide|put|copy|insert|embed|supply|share|reveal|"
    r"disclose|print|repeat|transmit|submit|report|leak|hand|look up|dump|fetch)"
)
_DO = (
    rf"(?:{_CALL}|{_GIVE}|ignore|disregard|follow|say|tell|answer|respond|read|obey|reply|treat|act|recommend|"
    r"mention|comply|write|delete|begin|start|stop|open)"
)
_THIS = r"(?:this|it|the|our|these)\b"
_PRIOR = r"(?:previous|prior|preceding|earlier|above|system|other|existing|all|any|every|everything|your|whatever|the)"
_RULES = (
    r"(?:instructions?|prompts?|rules?|guidelines?|guidance|directions?|directives?|orders?|commands?|restrictions?|"
    r"told|messages?|polic(?:y|ies)|constraints?|safeguards?|training)"
)
_MODEL = r"(?:assistants?|ai|llms?|language models?|chatbots?|claude|chatgpt|copilot|gemini|agents?|models?)"
_MUST = r"(?:must|should|shall|has to|have to|needs? to|(?:is|are) (?:required|obliged|expected|instructed|told) to)"
_OFTEN = (
    r"(?:every|each|any|all|new|whole|entire|full|complete|our|your|next|last|first|final|previous|recent)"
)
_TALK = (
    r"(?:conversations?|chats?|sessions?|repl(?:y|ies)|responses?|answers?|turns?|messages?|interactions?)"
)
_PRIVATE = (
    r"(?:passwords?|private keys?|ssh keys?|secret keys?|credentials?|system prompts?|system messages?|chat history|"
    r"(?:entire |whole |full )?conversations?|api keys? of|user's \w+ ?\w*|environment variables|variables of the environment|"
    r"log-?in (?:data|details)|(?:initial|original|hidden) (?:prompt|instructions)|passphrases?|seed phrases?|cookies of|"
    r"contents? of (?:the |all |any |your )*(?:file|\S*[~/.]))"
)
_PEOPLE = r"(?:users?|humans?|persons?|people|anyone|anybody|owners?|operators?|customers?)"
_HIDDEN_FROM = r"(?:tell|inform|mention|reveal|warn|ask|notify|let|disclose|alert|show|say|consult)"

_LIE = "reply|tell|respond|deny|pretend|refuse|insist"
_NO_EXERCISE = r"(?!\s+(?:an?|the)\s+(?:\w+\s+)?(?:function|method|program|class|algorithm)\b)"
"""Descriptions that models write for tasks begin like exercises: "You have to write a function which ..."."""
_WANTS = "wants?|expects?|requires?|asks?|needs?|instructs?|orders?|tells?|obliges?"

_ENGLISH = tuple(
    re.compile(pattern)
    for pattern in (
        (
            rf"\b(?:ignore|disregard|forget|override|overrule|bypass|set aside|discard|abandon|neglect|drop)\s(?:\S+\s){{0,4}}?"
            rf"{_PRIOR}\b.{{0,40}}\b{_RULES}\b"
        ),
        r"\b(?:ignore|disregard|forget)\s+(?:everything|anything|all|what)\s+(?:\w+\s+){0,4}(?:above|before|told|said|earlier)\b",
        r"\b(?:ignore|disregard|forget|override)\s+(?:\w+\s+){0,3}?(?:previous|prior|preceding|earlier)\b",
        rf"\byou\s+{_MUST}\s+(?:(?:also|always|first|now|then|never|not|only|immediately)\s+)*{_DO}\b{_NO_EXERCISE}",
        rf"\b(?:the|an|any|every|all|dear|attention|calling)\s+{_MODEL}\s+(?:\w+ly\s+)?{_MUST}\b",
        r"\bas an? (?:ai|assistant|language model|llm|chatbot)\b(?! (?:tool|service|platform))",
        rf"\b(?:dear|attention|note to|message to|hey|instructions? (?:to|for))\W+(?:the |all |any )?{_MODEL}\b",
        rf"\b(?:always|first|instead|immediately|must|before anything else),?\s+{_CALL}\s+{_THIS}",
        (
            rf"\b(?:{_CALL}|prefer)\s+(?:this|it|me)\b.{{0,60}}\b(?:before (?:you|any|every|all|each|doing|answering)|first\b|"
            r"instead of|rather than|at the (?:very )?(?:start|beginning)|in every|for every|every time|no matter)"
        ),
        (
            rf"\b(?:before|prior to|whenever|as soon as|at the (?:start|beginning)|as (?:the|your) first|once|after)\b.{{0,60}},"
            rf"\s*(?:please\s+|always\s+|first\s+)*(?:{_CALL}|{_GIVE}|route)\s+{_THIS}"
        ),
        r"\b(?:before|prior to|after)\s+(?:\w+\s+){0,3}[a-z]+(?:_[a-z0-9]+)+ (?:call|use|run).*\b(?:here|this)\b",
        rf"\b{_DO}\b.{{0,60}}\b(?:in|of|at|with|to|for|the)\s+{_OFTEN}\s+(?:\w+\s+)?{_TALK}\b(?!\s+(?:code|time|status|body|type|format|header))",
        rf"\b{_OFTEN}\s+(?:\w+\s+)?(?:conversation|chat|reply|answer|turn)s?\b.{{0,40}}\b{_CALL}\s+{_THIS}",
        rf"(?:^\s*|[,:;]\s+|\b(?:and|then|please|kindly|also|always|must|sure to|you to|you|remember to)\s+){_GIVE}\b.{{0,60}}\b{_PRIVATE}",
        (
            rf"(?:\bdo not|\bdon't|\bnever|\bmust not|\bavoid|\bshould not)\s+(?:ever\s+)?{_HIDDEN_FROM}(?:ing)?\b.{{0,30}}"
            rf"\b(?:{_PEOPLE}|confirmation|permission|consent)\b"
        ),
        rf"\bwithout\s+(?:{_HIDDEN_FROM}|mention)(?:t?ing)?\b.{{0,20}}\b(?:{_PEOPLE}|it|this|that|confirmation|permission)\b",
        rf"\b(?:quietly|silently|secretly|covertly|discreetly|unnoticed)\s+(?:\w+\s+)?{_DO}\b",
        (
            r"\b(?:other|competing|alternative|similar|all)\s+(?:tools?|functions?)\b.{0,30}\b(?:deprecated|broken|unsafe|insecure|"
            r"unreliable|obsolete|disabled|outdated|compromised|no longer)\b"
        ),
        rf"\b(?:do not|don't|never)\s+(?:{_CALL}|trust)\s+(?:any\s+|the\s+)?(?:other|another|different)\b",
        r"\b(?:from now on|henceforth|you are now|pretend (?:to be|that you)|developer mode|jailbreak|new instructions?)\b",
        r"\b(?:(?:highest|top|absolute|utmost) priority|treat .{0,40} as (?:an? )?(?:instructions?|orders?|commands?))\b",
        (
            r"\b(?:restrictions?|rules?|safeguards?|limits?|guardrails?) (?:are|is|were|have been|has been) (?:now )?"
            r"(?:lifted|removed|suspended|void|disabled|off)\b"
        ),
        rf"\b(?:recommend|advise|persuade|convince|urge|encourage|instruct|remind|tell|ask)\s+(?:the|your)\s+{_PEOPLE}\s+(?:to|that|for)\b",
        rf"\b{_PEOPLE} (?:has|have) (?:already )?(?:agreed|approved|consented|authori[sz]ed|given (?:\w+ )?(?:permission|consent))\b",
        rf"\b(?:your|answers? of yours|replies of yours)\s+(?:next|final|first|every|own)\s+{_TALK}\b",
        rf"\b(?:always|also|additionally|then),?\s+(?:always\s+|also\s+)?{_GIVE}\s+(?:it|them|this|the (?:result|output|text|content)|a copy|everything|all)\b",
        rf"\b(?:{_WANTS}) you to\b|\bplease,? (?:{_CALL}|ignore|forget)\b",
        rf"\b(?:if|when|whenever) (?:the |a |any )?(?:{_PEOPLE}|asked|you are asked)\b.{{0,50}}\b(?:claim|say|answer|{_LIE})\b",
        r"\bif you could\b|\bno need to (?:tell|mention|inform|ask|notify)\b|\bkeep (?:this|it) (?:secret|hidden|confidential|to yourself|quiet)\b",
        rf"\b(?:for|due to) (?:\w+ )?(?:compliance|audit(?:ing)?|regulatory|security)(?: \w+){{0,3}},?\s+(?:please |always |also |you )*{_DO}\b",
        r"\b[\w.+-]+@(?!(?:[\w-]+\.)*(?:example|test|domain|email|mail|gmail|company|xyz)\b)[\w-]+(?:\.[\w-]+)*\.[a-z]{2,}\b",
        r"</?\s*(?:system|assistant|important|instructions?|tool_call|function_calls?|user)\b[^>]*>",
        r"\[/?\s*(?:inst|system)\s*\]|<\|[a-z_]+\|>|^\s*(?:system|assistant|developer)(?: (?:notice|message|note|prompt|override))?\s*:",
        (
            r"(?:~|\$home|%userprofile%)[/\\]\.?\w|\bid_(?:rsa|ed25519|ecdsa|dsa)\b|\.(?:ssh|aws|kube|gnupg)\b|/etc/(?:passwd|shadow)\b|"
            r"(?<!\w)\.(?:netrc|npmrc|pypirc|git-credentials|bash_history)\b|\bauthorized_keys\b|/proc/self\b|\bmcp\.json\b"
        ),
    )
)  # fmt: skip
_OTHER_NAME = re.compile(
    r"\b(?:read|write|delete|send|get|list|create|update|remove|run|call|fetch|open|search|exec|execute|post|edit|move)_[a-z_]+\b"
)
_TOOL_NAME = re.compile(
    rf"\b(?:{_CALL}|calling|using|invoking|instead of|rather than|prior to(?: each| every| any)?|before(?: each| every| any)?)"
    r"\s+(?:the\s+)?[`'\"]?([a-z]+(?:_[a-z0-9]+)+)\b"
)
_META_NAME = re.compile(rf"\b(?:{'|'.join(META_TOOLS)})\b")


def imperatives_in(text: str, own_names: Collection[str] = ()) -> Iterator[str]:
    """The parts of a text that tell a model what to do; `own_names` are those of tool and parameters."""
    for plain in dict.fromkeys((_plain(text), _plain(text).translate(_LOOKALIKES))):
        for sentence in _SENTENCE.findall(plain):
            for pattern in _ENGLISH:
                if found := pattern.search(sentence):
                    yield found.group().strip()
            if _META_NAME.search(sentence):
                yield sentence.strip()
            names = [*_TOOL_NAME.findall(sentence), *_OTHER_NAME.findall(sentence)]
            yield from (name for name in names if name not in own_names)
            if _combines_groups(sentence):
                yield sentence.strip()


def _plain(text: str) -> str:
    """Small letters without accents and joiners, so that one spelling stands for all."""
    wide = unicodedata.normalize("NFKD", _JOINERS.sub("", text).casefold())
    return unicodedata.normalize("NFC", _MARKS.sub("", wide))


def _combines_groups(sentence: str) -> bool:
    holds = cache(lambda group: KEYWORD_GROUPS[group].search(sentence) is not None)
    return any(all(map(holds, groups)) for groups in SUSPICIOUS_COMBINATIONS)
