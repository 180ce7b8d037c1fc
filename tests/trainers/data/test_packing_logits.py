"""Packed samples do not see each other: logits, loss and gradients are those of each sample alone, in every form that attention takes."""

import random
from itertools import pairwise

import pytest

from cowork_gym.core.errors import UserError
from cowork_gym.trainers.data.dialogue import Source
from cowork_gym.trainers.data.sample import Sample
from cowork_gym.trainers.data.sft.collate import NO_LABEL, check_layers, collate
from cowork_gym.trainers.data.sft.loss import sft_loss
from cowork_gym.trainers.data.sft.packing import allowed_pairs, layout, pack

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
torch.set_num_threads(1)

SOURCE = Source("0" * 64, "M1003", "r", 0, "teacher")
VOCABULARY, CAPACITY = 97, 48
SIZES = {
    "vocab_size": VOCABULARY, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
    "max_position_embeddings": 128, "initializer_range": 0.2,
}


def sample(length, seed, *, weight=1.0, tokenizer="t"):
    generator = random.Random(seed)
    mask = tuple(at > 0 and generator.random() < 0.6 for at in range(length))
    return Sample(
        tuple(generator.randrange(VOCABULARY) for _ in range(length)), mask, tuple(weight if on else 0.0 for on in mask), SOURCE, tokenizer=tokenizer,
    )


SAMPLES = [sample(length, seed, weight=1.0 if seed % 2 else 0.5) for seed, length in enumerate((17, 30, 9, 12, 21, 1, 5))]
BINS = pack([len(one) for one in SAMPLES], CAPACITY).bins


@pytest.fixture(scope="module", params=["llama", "qwen2", "qwen3"])
def model(request):
    torch.manual_seed(0)
    kinds = {"llama": ("LlamaConfig", "LlamaForCausalLM"), "qwen2": ("Qwen2Config", "Qwen2ForCausalLM"), "qwen3": ("Qwen3Config", "Qwen3ForCausalLM")}
    config, kind = (getattr(transformers, name) for name in kinds[request.param])
    more = {"head_dim": 8} if request.param == "qwen3" else {}
    return kind(config(**SIZES, **more)).eval()


def logits_of(model, form):
    """For each sample in order of rows, what the model predicts in the packed batch, in one of the forms."""
    batch = collate(SAMPLES, BINS, CAPACITY)
    if form == "mask":
        check_layers(model.config, explicit_mask=True)
        logits = model(input_ids=batch.input_ids, position_ids=batch.position_ids, attention_mask=batch.attention_mask()).logits
        return _by_member(logits, batch)
    if form == "positions":
        check_layers(model.config)
        return _by_member(model(input_ids=batch.input_ids, position_ids=batch.position_ids, use_cache=False).logits, batch)
    flat = batch.flat()
    logits = model(input_ids=flat["input_ids"], position_ids=flat["position_ids"], use_cache=False).logits[0]
    return [logits[start:end] for start, end in zip(flat["cu_seq_lens_q"][:-1], flat["cu_seq_lens_q"][1:], strict=True)]


def _by_member(logits, batch):
    return [logits[row][batch.sequence_ids[row] == at] for row, members in enumerate(BINS) for at in range(len(members))]


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
@pytest.mark.parametrize("form", ["mask", "positions", "flat"])
def test_logits_are_those_of_each_sample_alone(model, form, attention):
    model.set_attn_implementation(attention)
    with torch.no_grad():
        packed = logits_of(model, form)
        for one, found in zip((SAMPLES[at] for row in BINS for at in row), packed, strict=True):
            alone = model(input_ids=torch.tensor([one.ids])).logits[0]
            torch.testing.assert_close(found, alone, atol=1e-4, rtol=0)


def by_lengths(module, query, key, value, attention_mask, scaling=None, **options):
    """What a kernel for variable lengths does: each member by itself, told by nothing but where it begins."""
    assert attention_mask is None
    groups, ends = query.shape[1] // key.shape[1], options["cu_seq_lens_q"].tolist()
    key, value = (one.repeat_interleave(groups, 1) for one in (key, value))
    parts = [
        torch.nn.functional.scaled_dot_product_attention(*(one[:, :, start:end] for one in (query, key, value)), is_causal=True, scale=scaling)
        for start, end in pairwise(ends)
    ]
    return torch.cat(parts, 2).transpose(1, 2), None


def test_lengths_alone_keep_members_apart(model):
    transformers.AttentionInterface.register("by_lengths", by_lengths)
    flat, names = collate(SAMPLES, BINS, CAPACITY).flat(), ("cu_seq_lens_q", "cu_seq_lens_k", "max_length_q", "max_length_k")
    with torch.no_grad():
        model.set_attn_implementation("by_lengths")
        lengths = {name: flat[name] for name in names}
        packed = model(input_ids=flat["input_ids"], position_ids=flat["position_ids"], use_cache=False, **lengths).logits[0]
        model.set_attn_implementation("eager")
        for (start, end), one in zip(pairwise(flat["cu_seq_lens_q"].tolist()), (SAMPLES[at] for row in BINS for at in row), strict=True):
            torch.testing.assert_close(packed[start:end], model(input_ids=torch.tensor([one.ids])).logits[0], atol=1e-4, rtol=0)


def test_without_positions_or_mask_they_would_not_be(model):
    batch = collate(SAMPLES, BINS, CAPACITY)
    with torch.no_grad():
        wrong = model(input_ids=batch.input_ids, attention_mask=torch.ones_like(batch.input_ids)).logits
        row, second = next((row, members[1]) for row, members in enumerate(BINS) if len(members) > 1)
        alone = model(input_ids=torch.tensor([SAMPLES[second].ids])).logits[0]
    found = wrong[row][batch.sequence_ids[row] == 1]
    assert (found - alone).abs().max() > 1e-2


def loss_and_gradient(model, batches, total):
    model.zero_grad()
    losses = []
    for batch, kept in batches:
        logits = model(input_ids=batch.input_ids, position_ids=batch.position_ids, attention_mask=kept).logits
        loss = sft_loss(logits, batch.labels, batch.weights, total=total)
        loss.backward()
        losses.append(loss.detach())
    return sum(losses), [one.grad.clone() for one in model.parameters()]


def test_loss_and_gradient_are_those_of_the_samples_apart_whatever_the_micro_batches(model):
    model.set_attn_implementation("eager")
    packed, padded = collate(SAMPLES, BINS, CAPACITY), collate(SAMPLES)
    total = packed.supervised
    assert total == padded.supervised == sum(one.supervised for one in SAMPLES)
    one_row = [(batch, batch.attention_mask()) for batch in (collate(SAMPLES, [row], CAPACITY) for row in BINS)]
    alone = [(batch, batch.attention_mask()) for batch in (collate([one]) for one in SAMPLES)]
    wanted_loss, wanted = loss_and_gradient(model, alone, total)
    for batches in ([(packed, packed.attention_mask())], [(padded, (padded.sequence_ids >= 0).long())], one_row):
        loss, gradient = loss_and_gradient(model, batches, total)
        torch.testing.assert_close(loss, wanted_loss, atol=1e-5, rtol=0)
        torch.testing.assert_close(gradient, wanted, atol=1e-4, rtol=0)


def test_the_mask_allows_the_pairs_of_the_layout_and_padding_none():
    batch = collate(SAMPLES, BINS, CAPACITY)
    allowed = batch.allowed()
    assert allowed.dtype == torch.bool and allowed.shape == (len(BINS), 1, CAPACITY, CAPACITY)
    for row, members in enumerate(BINS):
        one = layout([len(SAMPLES[at]) for at in members], CAPACITY)
        assert int(allowed[row].sum()) == allowed_pairs(one)
        assert not allowed[row, 0, one.cu_seqlens[-1] :].any() and not allowed[row, 0, :, one.cu_seqlens[-1] :].any()
    added = batch.attention_mask(torch.bfloat16)
    assert added.dtype == torch.bfloat16 and bool((added[allowed] == 0).all()) and bool((added[~allowed] == torch.finfo(torch.bfloat16).min).all())


def test_the_flat_form_has_all_members_and_no_padding():
    flat = collate(SAMPLES, BINS, CAPACITY).flat()
    order = [SAMPLES[at] for row in BINS for at in row]
    assert flat["input_ids"].tolist() == [[id for one in order for id in one.ids]]
    starts = flat["cu_seq_lens_q"].tolist()
    assert starts == [sum(len(one) for one in order[:at]) for at in range(len(order) + 1)]
    assert flat["cu_seq_lens_q"].dtype == torch.int32 and flat["max_length_q"] == flat["max_length_k"] == 30
    assert flat["seq_idx"].tolist() == [[at for at, one in enumerate(order) for _ in one.ids]]
    assert bool((flat["labels"][0, starts[:-1]] == NO_LABEL).all())


def test_the_first_token_of_a_member_is_no_target_even_where_its_sample_says_so():
    greedy = Sample((5, 6), (True, True), (1.0, 1.0), SOURCE)
    batch = collate([greedy, greedy], [[0, 1]], 5)
    assert batch.labels.tolist() == [[NO_LABEL, 6, NO_LABEL, 6, NO_LABEL]] and batch.weights.tolist() == [[0, 1, 0, 1, 0]]
    assert batch.supervised == 2


def test_layers_that_packing_does_not_keep_apart_are_told():
    with pytest.raises(UserError, match="linear_attention, which carry a state"):
        check_layers(transformers.Qwen3_5TextConfig(num_hidden_layers=4))
    gemma = transformers.Gemma3TextConfig(num_hidden_layers=6)
    check_layers(gemma)
    with pytest.raises(UserError, match="sliding_attention: give it positions instead of a mask"):
        check_layers(gemma, explicit_mask=True)
    with pytest.raises(UserError, match="sliding_attention"):
        check_layers(transformers.MistralConfig(sliding_window=8), explicit_mask=True)


def test_linear_attention_does_carry_a_state_over():
    torch.manual_seed(0)
    heads = {f"linear_{name}": size for name, size in (("key_head_dim", 8), ("value_head_dim", 8), ("num_key_heads", 2), ("num_value_heads", 2))}
    config = transformers.Qwen3_5TextConfig(**{**SIZES, "num_hidden_layers": 4}, head_dim=8, **heads)
    model = transformers.Qwen3_5ForCausalLM(config).eval()
    batch = collate(SAMPLES[:2], [[0, 1]], CAPACITY)
    with torch.no_grad():
        packed = model(input_ids=batch.input_ids, position_ids=batch.position_ids, use_cache=False).logits[0][batch.sequence_ids[0] == 1]
        alone = model(input_ids=torch.tensor([SAMPLES[1].ids])).logits[0]
    assert (packed - alone).abs().max() > 1e-3


@pytest.mark.parametrize(("samples", "bins", "told"), [
    ([], None, "a batch has rows"), (SAMPLES, [[0], []], "a batch has rows"), (SAMPLES, [[0, 1, 4]], "do not fit into a row of 48"),
    ([sample(3, 0), sample(3, 1, tokenizer="u")], None, "samples of 2 tokenizers in one batch: t, u"),
])
def test_what_is_no_batch_is_told(samples, bins, told):
    with pytest.raises(ValueError, match=told):
        collate(samples, bins, CAPACITY)
