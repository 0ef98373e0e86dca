#!/usr/bin/env python3
"""make_chat_golden.py FOLDER > chat_golden.json: makes conversations as transformers writes them.

FOLDER holds the published templates, one file FAMILY.jinja for each family. FAMILY+VARIANT.jinja is a template of that
family that begins with its own system prompt. Each answer is the text of apply_chat_template with the opening of the
assistant's turn, or null if the template raises an error.
"""
import hashlib
import json
import pathlib
import sys

import jinja2
import tokenizers
import transformers


def messages(*pairs):
    return [{"role": role, "content": content} for role, content in pairs]


S, U, A = "system", "user", "assistant"
CONVERSATIONS = [
    messages((U, "Hello")),
    messages((S, "Be brief."), (U, "Hello")),
    messages((U, "Hello"), (A, "Hi."), (U, "Why?")),
    messages((S, "Be brief."), (U, "Hello"), (A, "Hi."), (U, "Why?"), (A, "So."), (U, "Indeed?")),
    messages((U, "")),
    messages((S, ""), (U, "Hello")),
    messages((S, "Be brief."), (U, "")),
    messages((U, "Hello"), (A, ""), (U, "Why?")),
    messages((S, " \n Be brief.\t\n"), (U, "\n  Hello \n\n"), (A, " Hi. "), (U, "\tWhy?\u00a0\u2003")),
    messages((U, "\u3000\u0085 Hello\u001f\u2029")),
    messages((U, " \n ")),
    messages((U, "one\n\ntwo\r\n\r\nthree\n\n\nfour"), (A, "a\n\n\n\nb"), (U, "c\r\nd")),
    messages((S, "one\n\ntwo"), (U, "Hello")),
    messages((U, "<s>[INST] <|im_end|> </s> <|eot_id|> <</SYS>> <end_of_turn>")),
    messages((U, "Zwölf Boxkämpfer 拳 🥊"), (A, "é"), (U, "̈")),
    # Messages in an order that some templates refuse.
    messages((S, "Be brief.")),
    messages((A, "Hi.")),
    messages((U, "Hello"), (A, "Hi.")),
    messages((U, "Hello"), (U, "Hello?")),
    messages((S, "Be brief."), (A, "Hi."), (U, "Why?")),
    messages((S, "Be brief."), (S, "Be kind."), (U, "Hello")),
    messages((U, "Hello"), (S, "Be brief."), (U, "Why?")),
    messages((U, "Hello"), (A, "Hi."), (S, "Be brief."), (U, "Why?")),
    messages((U, "Hello"), (A, "Hi."), (A, "Well?"), (U, "Why?")),
]


def answer_of(tokenizer, template, conversation):
    try:
        return tokenizer.apply_chat_template(conversation, chat_template=template, tokenize=False,
                                             add_generation_prompt=True)
    except jinja2.exceptions.TemplateError:
        return None


def default_system_of(tokenizer, template, name):
    """Returns the text that the template writes before a first message that is not a system message."""
    if "+" not in name:
        return ""
    whole = answer_of(tokenizer, template, CONVERSATIONS[0])
    return whole.split("<|im_start|>system\n")[1].split("<|im_end|>")[0]


def main():
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizers.Tokenizer(tokenizers.models.BPE()), bos_token="<s>", eos_token="</s>")
    templates = []
    for file in sorted(pathlib.Path(sys.argv[1]).glob("*.jinja")):
        text = file.read_text(encoding="utf-8")
        templates.append({"name": file.stem.split("+")[0],
                          "default_system": default_system_of(tokenizer, text, file.stem),
                          "sha256": hashlib.sha256(text.encode()).hexdigest(),
                          "answers": [answer_of(tokenizer, text, one) for one in CONVERSATIONS]})
    json.dump({"made_by": "make_chat_golden.py with transformers " + transformers.__version__,
               "conversations": CONVERSATIONS, "templates": templates}, sys.stdout, ensure_ascii=True, indent=1)
    print()


if __name__ == "__main__":
    main()
