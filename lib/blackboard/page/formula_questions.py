"""Questions that readers bring, by subject, each with the formulas that answer it."""

from __future__ import annotations

SPEED = {
    "How long does a step take at least?": ("batching.step_time", "batching.latency_floor"),
    "From which batch on does a step wait for compute?": ("batching.critical_batch", "batching.crossing"),
    "From which context on does no batch help?": ("batching.balanced_context", "batching.mfu_limit"),
    "How many tokens per second does a rack make, and each user get?": ("batching.ceiling", "batching.user_speed"),
    "How many users does a mixture of experts need?": ("sparsity.expert_batch", "sparsity.free_sparsity"),
    "What does a small batch load of a mixture of experts?": ("sparsity.coverage", "sparsity.bytes_touched"),
    "When does a longer chain of racks stop waiting?": ("pipelining.in_flight", "pipelining.utilisation"),
    "What is lost while a pipeline fills and drains?": ("pipelining.bubble", "pipelining.interleaved_bubble"),
    "How long does a layer of experts take on its links?": ("racks.ep_time", "racks.exchange_time"),
    "When does leaving the rack cost time?": ("racks.ratio_hurts", "racks.slowdown"),
    "When do kernel launches set the pace?": ("overheads.batch_launch", "overheads.graph_gain"),
    "When does overlapping computing and sending pay?": ("overheads.batch_overlap", "overheads.overlap_gain"),
    "What does speculative decoding gain?": ("speculation.speedup", "speculation.tokens_per_round"),
    "Up to which batch does speculation pay?": ("speculation.batch_free", "speculation.batch_even"),
    "How long does a request wait under load?": ("prediction.queue_time", "prediction.first_token_time"),
}
MEMORY = {
    "How large is the KV cache of a token?": ("pricing.kv_of_heads", "paging.hybrid_kv"),
    "How many sequences fit beside the weights?": ("sparsity.batch_fits", "paging.batch_held"),
    "Which context fits, and do more stages help?": ("pipelining.context_fits", "pipelining.stage_memory"),
    "What do blocks waste, and what do reservations?": ("paging.page_waste", "paging.use_reserved"),
    "How long may a cache be kept?": ("pricing.hbm_even", "pricing.tier_cost", "reversibility.keep_even"),
    "How much does a cache that is too small find?": ("paging.hit_rate_room",),
    "What do activations take in training?": ("reversibility.stored", "reversibility.checkpointed"),
    "How far apart should checkpoints be?": ("reversibility.segment_best", "reversibility.checkpointed_least"),
}
MONEY = {
    "What does a token cost?": ("batching.cost_per_token", "prediction.token_price"),
    "What is the least that a token can cost?": ("batching.cost_floor", "batching.slow_mode_limit"),
    "What does fast mode buy?": ("batching.fast_mode_batch_ratio",),
    "What does a price step reveal?": ("pricing.kv_implied", "pricing.context_implied"),
    "When does a cache write pay?": ("pricing.uses_even", "pricing.hit_rate_even"),
    "What margin does a price leave?": ("pricing.input_margin",),
}
TRAINING = {
    "How much compute does training take?": ("overtraining.pretrain_compute", "overtraining.training_time"),
    "How large a model for a training budget?": ("overtraining.best_size", "overtraining.best_tokens"),
    "How far past Chinchilla's rule?": ("overtraining.overtraining", "overtraining.inference_over_training"),
    "What does RL cost beside pre-training?": ("overtraining.rl_compute", "overtraining.rl_coefficient"),
    "What is a repeated token worth?": ("corpus.repeat_worth", "corpus.data_worth"),
    "How much better must filtered text be?": ("corpus.quality_even", "corpus.filtered_worth"),
    "What are more experts worth?": ("sparsity.quality_gain", "sparsity.n_effective"),
}
