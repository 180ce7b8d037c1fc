"""A chat template with tools for SmolLM2, whose own knows none: ChatML, with calls and results marked as Hermes and Qwen mark them."""

__all__ = ["SMOLLM2_TOOLS"]

SMOLLM2_TOOLS = r"""
{%- if tools %}
    {{- '<|im_start|>system\n' }}
    {%- if messages[0].role == 'system' %}
        {{- messages[0].content + '\n\n' }}
    {%- endif %}
    {{- 'You can call these functions:\n<tools>\n' }}
    {%- for tool in tools %}
        {{- tool | tojson + '\n' }}
    {%- endfor %}
    {{- '</tools>\nTo call one, write:\n<tool_call>\n{"name": "its name", "arguments": {"its": "arguments"}}\n</tool_call><|im_end|>\n' }}
{%- endif %}
{%- for message in messages %}
    {%- if message.role == 'tool' %}
        {%- if loop.first or loop.previtem.role != 'tool' %}
            {{- '<|im_start|>user\n' }}
        {%- else %}
            {{- '\n' }}
        {%- endif %}
        {{- '<tool_response>\n' + message.content + '\n</tool_response>' }}
        {%- if loop.last or loop.nextitem.role != 'tool' %}
            {{- '<|im_end|>\n' }}
        {%- endif %}
    {%- elif not (tools and loop.first and message.role == 'system') %}
        {{- '<|im_start|>' + message.role + '\n' + message.content }}
        {%- for call in message.tool_calls or [] %}
            {{- '\n' if message.content or not loop.first }}
            {{- '<tool_call>\n{"name": ' + call.function.name | tojson + ', "arguments": ' }}
            {{- call.function.arguments if call.function.arguments is string else call.function.arguments | tojson }}
            {{- '}\n</tool_call>' }}
        {%- endfor %}
        {{- '<|im_end|>\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\n' }}
{%- endif %}
""".lstrip("\n")
"""Messages are shown as they are, nothing trimmed; results of one answer stand in one turn of the user's."""
