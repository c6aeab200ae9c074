"""What this page quotes, and what its interactive charts must show."""

from chart_checks import ChartCheck

from blackboard.lessons.overtraining.charts import CURVES as AT_LOSS

QUOTED = {
    "30": "days of a month",
    "20": "Chinchilla's tokens a parameter, 1:31:17",
    "6": "6ND, its name; the most that training on a token of RL costs",
    "2": "FLOPs of a forward pass, and the least that RL costs, 1:21:58; percent that OLMo-1B lost (Springer)",
    "1": "a name of OLMo",
    "2.3": "trillions of tokens of the other OLMo-1B, by Springer's abstract",
    "1.7": "billions of parameters of the largest model of Kumar's abstract; a loss of the first Llama models",
    "8": "FLOPs of a token of RL that is trained on; a name of Llama",
    "405": "a name of Llama",
    "3": "a name of Llama; the lecture's FLOPs of RL; trillions of tokens of OLMo-1B (Springer's abstract)",
    "0.3": "the lecture's efficiency of generating, 1:25:02",
    "500": "the lecture's traffic in millions of tokens a second, 1:29:49; billions of tokens of the fit's largest run",
    "50": "a tenth of it, 1:30:46",
    "100": "the lecture's active parameters in billions, 1:31:17; a serving ratio of the page's last row",
    "5": "the smallest family, 1:30:46",
    "10": "the largest family, 1:30:46",
    "13": "billions of parameters of Sardana's example, figure 1",
    "7": "billions of parameters of its answer",
    "17": "percent that it saves",
    "3.1": "a name of Llama",
    "32": "a name of Qwen",
    "2025": "the year of DeepSeek's day",
    "2022": "the year of Chinchilla's paper",
    "75": "billions of parameters of a row of the program that spends a million dollars",
    "16": "billions of parameters of the fit's largest model",
    "10,000": "tokens a parameter of Sardana's longest run",
    "65": "billions of parameters of a first Llama model, 65.2 by its paper",
    "33": "billions of parameters of another, 32.5 by its paper",
    "600": "billions of tokens of the one at a loss of 1.7 (Timbers)",
    "800": "billions of tokens of the other at the same loss (Timbers)",
    "25": "tokens a parameter of the second at most, 800 / 32.5",
    "70": "the open question's model; billions of parameters of Chinchilla",
    "67.5": "percent of MMLU's questions, Chinchilla, by its paper's abstract (five examples)",
    "66.7": "percent of MMLU's questions, the base model of Llama 3.1 8B, by its card (five examples)",
}

CHARTS = {
    "size_chart": ChartCheck(
        "1",
        "n_active",
        AT_LOSS,
        (
            {"law": "Hoffmann, as printed"},
            {"optimal_exponent": 10, "inference_tokens_exponent": 16.001, "worse": 10},
            {"optimal_exponent": 12, "inference_tokens_exponent": 11.001},
        ),
    ),
}
