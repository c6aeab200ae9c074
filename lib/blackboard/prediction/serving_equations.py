"""Formulas of a server under load: a step that decodes and takes in prompts, and what its users wait for.

A step's work is given as the seconds that an ideal chip would need for each part; six constants make a real step of
them. The closed loop follows from steps: N users, each sends the next request when the last one is answered.
"""

from __future__ import annotations

from sympy import Add, EulerGamma, Integer, Le, Mul, Pow, Rational, exp, log, pi, sqrt

from blackboard.formula import DERIVED, Formula, Max
from blackboard.lessons.batching.equations import chips as replica_chips
from blackboard.lessons.batching.equations import compute_efficiency, memory_efficiency, new_token, one_sequence, rent
from blackboard.lessons.racks.equations import experts, link_efficiency, link_latency, top_k
from blackboard.notation import calibration, declare, result

as_written = {"evaluate": False}  # SymPy leaves terms and factors in their order

# --- one step, in seconds of an ideal chip ----------------------------------------------------------------------------

shared_read = declare(
    "shared_read", r"r_\mathrm{shared}", "s", "time to read the matrices that all tokens use", zero=True
)
shared_multiply = declare("shared_multiply", r"m_\mathrm{shared}", "s", "time to multiply by those matrices", zero=True)
expert_read = declare(
    "expert_read", r"r_\mathrm{experts}", "s", "time to read the experts that some token chose", zero=True
)
expert_multiply = declare("expert_multiply", r"m_\mathrm{experts}", "s", "time to multiply by those experts", zero=True)
cache_read = declare(
    "cache_read", r"r_\mathrm{cache}", "s", "time to read the cache of all sequences that decode", zero=True
)
cache_multiply = declare("cache_multiply", r"m_\mathrm{cache}", "s", "time to attend to that cache", zero=True)
prompt_attend = declare(
    "prompt_attend", r"m_\mathrm{prompt}", "s", "time in which the tokens of prompts attend", zero=True
)
link_busy = declare("link_busy", r"v_\mathrm{links}", "s", "time in which the links carry a step's messages", zero=True)
collectives = declare("collectives", r"n_\mathrm{coll}", "1", "exchanges between chips, one after the other", zero=True)
captured = declare("captured", r"n_\mathrm{kernel}", "1", "kernels of a step", zero=True)
launched = declare(
    "launched",
    r"n_\mathrm{launch}",
    "1",
    "kernels that the host launches one by one: those of a step with prompts",
    zero=True,
)
answers = declare("answers", r"n_\mathrm{answer}", "1", "tokens that a step sends to users", zero=True)
gap_time = calibration("gap_time", r"t_\mathrm{gap}", "s", "pause between two kernels of a step", zero=True, value=0)
eager_gap = calibration(
    "eager_gap", r"t_\mathrm{eager}", "s", "time in which the host launches one kernel", zero=True, value=0
)
answer_time = calibration(
    "answer_time",
    r"t_\mathrm{answer}",
    "s",
    "time to sample, schedule and send one token of one sequence",
    zero=True,
    value=0,
)
request_gap = calibration(
    "request_gap",
    r"t_\mathrm{request}",
    "s",
    "time before a request's first step, for each kernel of the pass that is prepared",
    zero=True,
    value=0,
)
result("t_device", r"t_\mathrm{device}", "s", "time that the device needs for a step")
result("t_mixed", r"t_\mathrm{mixed}", "s", "time of a step that may take in prompts")

device_time = Formula(
    "prediction.device_time",
    "t_device",
    Max(shared_read / memory_efficiency, shared_multiply / compute_efficiency)
    + Max(expert_read / memory_efficiency, expert_multiply / compute_efficiency)
    + Max(cache_read / memory_efficiency, cache_multiply / compute_efficiency)
    + prompt_attend / compute_efficiency
    + link_busy / link_efficiency
    + collectives * link_latency
    + captured * gap_time,
    "s",
    "matrices are read once for all tokens of a step; each kind of work takes the longer of reading and multiplying",
    ("kinds of work follow one after the other", "all chips are equally busy, but for experts"),
    DERIVED,
    register=False,
)
mixed_time = Formula(
    "prediction.mixed_time",
    "t_mixed",
    Max(device_time.typed, launched * eager_gap) + answers * answer_time,
    "s",
    "a decode step is a captured graph; the kernels of a step with prompts the host launches while the device runs",
    device_time.assumes,
    DERIVED,
    register=False,
)

# --- experts ----------------------------------------------------------------------------------------------------------

routed_tokens = declare("routed_tokens", r"T_\mathrm{step}", "1", "tokens of a step that a router deals out")
touched = declare("touched", r"c_\mathrm{touched}", "1", "share of the experts that some token chose", most=1)
tile = declare("tile", r"n_\mathrm{tile}", "1", "rows that a tensor core multiplies at once", zero=True)
places = declare("places", r"n_\mathrm{places}", "1", "chips that the experts are dealt out over")
mean_load = declare("mean_load", r"\bar{x}", "1", "what one chip has on average: tokens, or touched experts")
spread_load = declare("spread_load", r"\mathrm{Var}\,x", "1", "variance of what one chip has", zero=True)
result("padded_rows", r"n_\mathrm{pad}", "1", "rows that the experts multiply, empty ones counted")
result("busiest", r"x_\mathrm{max}/\bar{x}", "1", "what the busiest chip has, divided by the mean")

padded_rows = Formula(
    "prediction.padded_rows",
    "padded_rows",
    routed_tokens * top_k + experts * touched * tile / 2,
    "1",
    "an expert's tokens fill tiles, the last of which is half empty on average",
    ("the last tile is as often nearly empty as nearly full",),
    DERIVED,
)
_high = sqrt(2 * log(places))
extreme = _high - (log(log(places)) + log(4 * pi) - 2 * EulerGamma) / (2 * _high)
_root = Pow(2 * log(places), Rational(1, 2), **as_written)
_less = Add(log(log(places)), log(4 * pi), -2 * EulerGamma, **as_written)
_written_extreme = Add(
    _root, Mul(-1, _less, Pow(Mul(2, _root, **as_written), -1, **as_written), **as_written), **as_written
)
busiest = Formula(
    "prediction.busiest",
    "busiest",
    1 + extreme * sqrt(spread_load) / mean_load,
    "1",
    "the largest of n loads lies about √(2 ln n) standard deviations above their mean, less a slow correction",
    ("loads are normal and independent", "tokens choose their experts independently"),
    DERIVED,
    conditions=(Le(Integer(2), places),),
    typeset=Add(1, Mul(sqrt(spread_load) / mean_load, _written_extreme, **as_written), **as_written),
)

# --- a closed loop ----------------------------------------------------------------------------------------------------

concurrency = declare("concurrency", "N", "sequence", "requests in flight")
prompt_length = declare("prompt_length", "I", "token/sequence", "mean tokens of a prompt")
output_length = declare("output_length", "O", "token/sequence", "mean tokens of an answer")
nominal_length = declare("nominal_length", r"\ell", "token/sequence", "the longest length that is drawn")
least_share = declare("least_share", "s", "1", "the shortest length drawn, as a share of the longest", most=1)
prompts_taken = declare("prompts_taken", "g", "sequence", "prompts, or parts of one, that a step with prompts takes in")
decode_step = declare("decode_step", r"t_\mathrm{dec}", "s", "time of a step without prompts")
prompt_step = declare("prompt_step", r"t_\mathrm{pre}", "s", "time of a step with prompts")
alone_step = declare("alone_step", r"t_\mathrm{alone}", "s", "time of a step that takes in prompts and decodes nothing")
burst_step = declare("burst_step", r"t_\mathrm{burst}", "s", "time of a step full of prompts")
burst_groups = declare("burst_groups", "G", "1", "steps that take in the prompts of all users at once")
requests_per_user = declare("requests_per_user", "w", "1", "requests that each user sends, one after the other")
prompt_share = declare("prompt_share", "p", "1", "share of the steps that take in prompts", zero=True, most=1)
prompt_busy = declare("prompt_busy", r"\rho", "1", "share of the time that prompts take", zero=True, most=1)
held_steps = declare(
    "held_steps", "h", "1", "steps that the engine lets a prompt wait, to take in several at once", zero=True
)
running_step = declare("running_step", r"t_\mathrm{run}", "s", "mean time of a step while prompts come")
first_token = declare("first_token", r"t_\mathrm{first}", "s", "time to first token")
output_token = declare("output_token", r"t_\mathrm{out}", "s", "time per output token, from the first one on")
room_share = declare("room_share", r"x_\mathrm{room}", "1", "share of the memory that the engine fills", most=1)
memory_bytes = declare("memory_bytes", r"M_\mathrm{chip}", "byte", "memory of one chip")
weight_bytes = declare("weight_bytes", r"M_\mathrm{w}", "byte", "weights on one chip", zero=True)
sequence_cache = declare(
    "sequence_cache", r"M_\mathrm{seq}", "byte/sequence", "cache that a sequence in flight takes on one chip"
)
coming = declare("coming", r"q_h", "sequence", "prompts that come between two looks at the queue")
result("others_prompts", r"q_\mathrm{others}", "sequence", "prompts of others that come in during a step")
result("clumping", r"z_\mathrm{clump}", "1", "rate at which prompts come, while they come, divided by its mean")
result("taken_together", r"g_0", "sequence", "prompts that a step takes in, if it takes in any")
result("mean_length", r"\bar{\ell}", "token/sequence", "mean length of what is drawn")
result("mean_context", r"\bar{L}", "token/sequence", "mean context of a sequence in flight")
result("prompts_per_step", "q", "sequence", "prompts that come in during a step")
result("request_rate", "X", "sequence/s", "requests answered each second")
result("t_response", "T", "s", "time that a request is in the system")
result("held_sequences", r"N_\mathrm{fit}", "sequence", "sequences in flight that the memory holds")
result("t_queue", r"t_\mathrm{queue}", "s", "time that a prompt waits for others")
result("usd_per_token", r"p_\mathrm{tok}", "USD/token", "rent divided by all tokens, read and generated")

mean_length = Formula(
    "prediction.mean_length",
    "mean_length",
    nominal_length * (1 + least_share) / 2,
    "token/sequence",
    "the mean of lengths drawn uniformly between a share of the longest and the longest",
)
mean_context = Formula(
    "prediction.mean_context",
    "mean_context",
    prompt_length + output_length / 2,
    "token/sequence",
    "a sequence in flight has its whole prompt, and on average half of its answer",
    typeset=Add(prompt_length, output_length / 2, **as_written),
)
prompts_per_step = Formula(
    "prediction.prompts_per_step",
    "prompts_per_step",
    concurrency * new_token / output_length,
    "sequence",
    "of N sequences one in O/N ends with a step, and with each that ends another prompt comes in",
    ("as many are in flight all the time",),
)
others_prompts = Formula(
    "prediction.others_prompts",
    "others_prompts",
    (concurrency - one_sequence) * new_token / output_length * (1 - 1 / (2 * requests_per_user)),
    "sequence",
    "a user sees the prompts of all others; with the last requests of a run only half as many come",
    prompts_per_step.assumes,
    conditions=(Le(one_sequence, concurrency),),
    typeset=Mul(
        Add(concurrency, -1, **as_written) / output_length,
        Add(1, -1 / (2 * requests_per_user), **as_written),
        **as_written,
    ),
)
clumping = Formula(
    "prediction.clumping",
    "clumping",
    Max(1, (1 + least_share) / (1 - least_share) / (1 + sqrt(requests_per_user - 1))),
    "1",
    "users who start together end together, but for the spread of the lengths, which grows as the root of the requests"
    " that they have sent",
    ("after k requests a clump is √k times as wide as after one", "1/√k is averaged over a run"),
    conditions=(Le(Integer(1), requests_per_user),),
)
taken_together = Formula(
    "prediction.taken_together",
    "taken_together",
    coming / (1 - exp(-coming / one_sequence)),
    "sequence",
    "steps without a prompt left out, a step takes in the mean of a Poisson number that is not 0",
    ("prompts come independently of each other",),
)
mixed_token = Formula(
    "prediction.mixed_token",
    "output_token",
    (1 - prompt_share) * decode_step + prompt_share * prompt_step,
    "s",
    "decodes ride along in steps that take in prompts: a token takes a step of one kind or the other",
    typeset=Add(
        Mul(Add(1, -prompt_share, **as_written), decode_step, **as_written),
        Mul(prompt_share, prompt_step, **as_written),
        **as_written,
    ),
)
stalled_token = Formula(
    "prediction.stalled_token",
    "output_token",
    decode_step + others_prompts.typed / prompts_taken * alone_step,
    "s",
    "decodes stand still while prompts are taken in: a token takes a step, and its share of everybody's prompts",
)
queue_time = Formula(
    "prediction.queue_time",
    "t_queue",
    prompt_busy / (2 * (1 - prompt_busy)) * prompt_step,
    "s",
    "prompts of one length that come at random wait for those before them (Pollaczek and Khinchine)",
    ("prompts come independently of each other",),
    conditions=(Le(prompt_busy, Rational(99, 100)),),
)
first_token_time = Formula(
    "prediction.first_token_time",
    "first_token",
    captured * request_gap
    + (1 - 1 / requests_per_user) * (held_steps * output_token + running_step + prompt_step + queue_time.typed)
    + burst_step * (burst_groups + 1) / (2 * requests_per_user),
    "s",
    "a request waits for the step under way, for its own prompt and for those before it; each user's first request"
    " came with everybody's",
    queue_time.assumes,
    conditions=queue_time.conditions,
    typeset=Add(
        Mul(
            Add(1, -1 / requests_per_user, **as_written),
            Add(held_steps * output_token, running_step, prompt_step, queue_time.expr, **as_written),
            **as_written,
        ),
        Mul(burst_step, Add(burst_groups, 1, **as_written) / (2 * requests_per_user), **as_written),
        **as_written,
    ),
)
response_time = Formula(
    "prediction.response_time",
    "t_response",
    first_token + (output_length / new_token - 1) * output_token,
    "s",
    "the first token, then all others",
    typeset=Add(first_token, Mul(Add(output_length, -1, **as_written), output_token, **as_written), **as_written),
)
request_rate = Formula(
    "prediction.request_rate",
    "request_rate",
    concurrency / response_time.typed,
    "sequence/s",
    "Little's law: what is in flight is the rate times the time that each request stays",
    ("as many are in flight all the time",),
)
held_sequences = Formula(
    "prediction.held_sequences",
    "held_sequences",
    (room_share * memory_bytes - weight_bytes) / sequence_cache,
    "sequence",
    "what the weights leave of the engine's share of the memory, divided by what a sequence takes",
    ("activations fit into what the engine leaves free",),
    conditions=(Le(weight_bytes, room_share * memory_bytes),),
    typeset=Mul(
        Add(Mul(room_share, memory_bytes, **as_written), -weight_bytes, **as_written), 1 / sequence_cache, **as_written
    ),
)
token_price = Formula(
    "prediction.token_price",
    "usd_per_token",
    rent * replica_chips / (request_rate.typed * (prompt_length + output_length)),
    "USD/token",
    "rent of all chips, divided by the tokens that they read and generate",
)
