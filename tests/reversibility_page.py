"""What this page quotes."""

QUOTED = {
    "6": "6ND, its name",
    "1": "the compute of a training step, in such steps",
    "128": "heads of Llama 3.1 405B",
    "16": "groups that share its layers, and sequences in flight",
    "516,096": "bytes that it caches per token",
    "8": "8ND, its name with a pass more; GPUs of a node",
    "4": "of four thirds",
    "3": "of four thirds",
    "3.1": "a name of Llama",
    "405": "a name of Llama",
    "34": "bytes a value, Korthikanti and others, section 4.1",
    "164": "layers of a measured network, its name",
    "22": "billions of parameters of the smallest measured model",
    "1,000": "and of the largest",
    "0.11": "bits per character, by the fast.ai community's report",
    "30": "the open question's model",
    "80": "the open question's memory",
}
