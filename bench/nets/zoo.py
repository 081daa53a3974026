"""Nets of torchvision and transformers with random weights: how each is made, and what it is given.

Nets of torchvision are those that the installed version lists, at the size they are made for. Transformers are one row each in
ARCHITECTURES: small ones of every kind of attention, position and normalisation that the library has, and some of real size.
`names()` lists them, `make(name, batch)` returns the module and its inputs.
"""

VISION_PIXELS = {"inception_v3": 299, "swin_v2_t": 256, "swin_v2_s": 256, "swin_v2_b": 256, "efficientnet_b1": 240, "efficientnet_b2": 288,
                 "efficientnet_b3": 300, "efficientnet_b4": 380, "efficientnet_b5": 456, "efficientnet_b6": 528, "efficientnet_b7": 600,
                 "efficientnet_v2_s": 384, "efficientnet_v2_m": 480, "efficientnet_v2_l": 480, "vit_h_14": 224}

# Sizes that most configurations call by the same names.
SMALL = {"hidden_size": 256, "num_hidden_layers": 4, "num_attention_heads": 8, "intermediate_size": 1024}
DECODER = SMALL | {"vocab_size": 8192, "max_position_embeddings": 512}
ENCODER = DECODER
IMAGE = SMALL | {"image_size": 224, "patch_size": 16}
BASE = {}

# name: configuration, model, sizes, kind of input
ARCHITECTURES = {
    "bert": ("BertConfig", "BertModel", ENCODER, "tokens"),
    "bert-base": ("BertConfig", "BertModel", BASE, "tokens"),
    "roberta": ("RobertaConfig", "RobertaModel", ENCODER, "tokens"),
    "electra": ("ElectraConfig", "ElectraModel", ENCODER | {"embedding_size": 128}, "tokens"),
    "albert": ("AlbertConfig", "AlbertModel", ENCODER | {"embedding_size": 128}, "tokens"),
    "distilbert": ("DistilBertConfig", "DistilBertModel", {"dim": 256, "n_layers": 4, "n_heads": 8, "hidden_dim": 1024, "vocab_size": 8192}, "tokens"),
    "mobilebert": ("MobileBertConfig", "MobileBertModel", {"num_hidden_layers": 4, "vocab_size": 8192}, "tokens"),
    "mpnet": ("MPNetConfig", "MPNetModel", ENCODER, "tokens"),
    "deberta": ("DebertaConfig", "DebertaModel", ENCODER | {"relative_attention": True, "pos_att_type": ["c2p", "p2c"]}, "tokens"),
    "deberta-v2": ("DebertaV2Config", "DebertaV2Model",
                   ENCODER | {"relative_attention": True, "pos_att_type": ["c2p", "p2c"], "position_buckets": 64, "norm_rel_ebd": "layer_norm",
                              "share_att_key": True}, "tokens"),
    "squeezebert": ("SqueezeBertConfig", "SqueezeBertModel", ENCODER | {"embedding_size": 256}, "tokens"),
    "funnel": ("FunnelConfig", "FunnelModel", {"vocab_size": 8192, "block_sizes": [2, 2], "d_model": 256, "n_head": 8, "d_head": 32, "d_inner": 1024}, "tokens"),
    "convbert": ("ConvBertConfig", "ConvBertModel", ENCODER | {"embedding_size": 256}, "tokens"),
    "fnet": ("FNetConfig", "FNetModel", {k: v for k, v in ENCODER.items() if k != "num_attention_heads"}, "tokens"),
    "nystromformer": ("NystromformerConfig", "NystromformerModel", ENCODER, "tokens"),
    "modernbert": ("ModernBertConfig", "ModernBertModel", ENCODER, "tokens"),
    "xlm-roberta": ("XLMRobertaConfig", "XLMRobertaModel", ENCODER, "tokens"),
    "gpt2": ("GPT2Config", "GPT2Model", {"n_embd": 256, "n_layer": 4, "n_head": 8, "vocab_size": 8192}, "tokens"),
    "gpt2-base": ("GPT2Config", "GPT2Model", BASE, "tokens"),
    "gpt-neo": ("GPTNeoConfig", "GPTNeoModel", {"hidden_size": 256, "num_layers": 4, "num_heads": 8, "attention_types": [[["global", "local"], 2]],
                                                "vocab_size": 8192}, "tokens"),
    "gpt-neox": ("GPTNeoXConfig", "GPTNeoXModel", DECODER, "tokens"),
    "gptj": ("GPTJConfig", "GPTJModel", {"n_embd": 256, "n_layer": 4, "n_head": 8, "rotary_dim": 16, "vocab_size": 8192}, "tokens"),
    "opt": ("OPTConfig", "OPTModel", {"hidden_size": 256, "num_hidden_layers": 4, "num_attention_heads": 8, "ffn_dim": 1024, "vocab_size": 8192,
                                      "word_embed_proj_dim": 256}, "tokens"),
    "bloom": ("BloomConfig", "BloomModel", {"hidden_size": 256, "n_layer": 4, "n_head": 8, "vocab_size": 8192}, "tokens"),
    "falcon": ("FalconConfig", "FalconModel", {"hidden_size": 256, "num_hidden_layers": 4, "num_attention_heads": 8, "vocab_size": 8192}, "tokens"),
    "mpt": ("MptConfig", "MptModel", {"d_model": 256, "n_layers": 4, "n_heads": 8, "vocab_size": 8192}, "tokens"),
    "llama": ("LlamaConfig", "LlamaModel", DECODER | {"num_key_value_heads": 2}, "tokens"),
    "mistral": ("MistralConfig", "MistralModel", DECODER | {"num_key_value_heads": 2, "sliding_window": 64}, "tokens"),
    "qwen2": ("Qwen2Config", "Qwen2Model", DECODER | {"num_key_value_heads": 2}, "tokens"),
    "qwen3": ("Qwen3Config", "Qwen3Model", DECODER | {"num_key_value_heads": 2, "head_dim": 32}, "tokens"),
    "gemma": ("GemmaConfig", "GemmaModel", DECODER | {"num_key_value_heads": 1, "head_dim": 32}, "tokens"),
    "gemma2": ("Gemma2Config", "Gemma2Model", DECODER | {"num_key_value_heads": 2, "head_dim": 32}, "tokens"),
    "phi": ("PhiConfig", "PhiModel", DECODER, "tokens"),
    "phi3": ("Phi3Config", "Phi3Model", DECODER | {"num_key_value_heads": 2, "pad_token_id": 0}, "tokens"),
    "stablelm": ("StableLmConfig", "StableLmModel", DECODER | {"num_key_value_heads": 2}, "tokens"),
    "olmo": ("OlmoConfig", "OlmoModel", DECODER, "tokens"),
    "cohere": ("CohereConfig", "CohereModel", DECODER | {"num_key_value_heads": 2}, "tokens"),
    "granite": ("GraniteConfig", "GraniteModel", DECODER | {"num_key_value_heads": 2}, "tokens"),
    "smollm3": ("SmolLM3Config", "SmolLM3Model", DECODER | {"num_key_value_heads": 2, "pad_token_id": 0}, "tokens"),
    "t5-encoder": ("T5Config", "T5EncoderModel", {"d_model": 256, "d_kv": 32, "d_ff": 1024, "num_layers": 4, "num_heads": 8, "vocab_size": 8192}, "tokens"),
    "bart-encoder": ("BartConfig", "BartModel", {"d_model": 256, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 8,
                                                 "decoder_attention_heads": 8, "encoder_ffn_dim": 1024, "decoder_ffn_dim": 1024, "vocab_size": 8192}, "pair"),
    "t5": ("T5Config", "T5Model", {"d_model": 256, "d_kv": 32, "d_ff": 1024, "num_layers": 2, "num_heads": 8, "vocab_size": 8192}, "pair"),
    "vit": ("ViTConfig", "ViTModel", IMAGE, "pixels"),
    "deit": ("DeiTConfig", "DeiTModel", IMAGE, "pixels"),
    "beit": ("BeitConfig", "BeitModel", IMAGE | {"use_relative_position_bias": True}, "pixels"),
    "dinov2": ("Dinov2Config", "Dinov2Model", {k: v for k, v in IMAGE.items() if k != "intermediate_size"} | {"patch_size": 14}, "pixels"),
    "swin": ("SwinConfig", "SwinModel", {"embed_dim": 48, "depths": [2, 2, 2, 2], "num_heads": [3, 6, 12, 24]}, "pixels"),
    "swinv2": ("Swinv2Config", "Swinv2Model", {"embed_dim": 48, "depths": [2, 2, 2, 2], "num_heads": [3, 6, 12, 24], "image_size": 256, "window_size": 8}, "pixels256"),
    "segformer": ("SegformerConfig", "SegformerModel", BASE, "pixels"),
    "pvt": ("PvtConfig", "PvtModel", BASE, "pixels"),
    "mobilevit": ("MobileViTConfig", "MobileViTModel", {"image_size": 256}, "pixels256"),
    "convnextv2": ("ConvNextV2Config", "ConvNextV2Model", {"depths": [2, 2, 4, 2], "hidden_sizes": [48, 96, 192, 384]}, "pixels"),
    "poolformer": ("PoolFormerConfig", "PoolFormerModel", {"depths": [2, 2, 4, 2]}, "pixels"),
    "levit": ("LevitConfig", "LevitModel", BASE, "pixels"),
    "clip-vision": ("CLIPVisionConfig", "CLIPVisionModel", IMAGE, "pixels"),
    "clip-text": ("CLIPTextConfig", "CLIPTextModel", SMALL | {"vocab_size": 8192}, "words77"),
    "siglip-vision": ("SiglipVisionConfig", "SiglipVisionModel", IMAGE, "pixels"),
    "whisper-encoder": ("WhisperConfig", "WhisperEncoder", {"d_model": 256, "encoder_layers": 4, "encoder_attention_heads": 8, "encoder_ffn_dim": 1024}, "mel"),
    "wav2vec2": ("Wav2Vec2Config", "Wav2Vec2Model", SMALL, "wave"),
    "hubert": ("HubertConfig", "HubertModel", SMALL, "wave"),
    "ast": ("ASTConfig", "ASTModel", SMALL | {"max_length": 256}, "spectrogram"),
    "mamba": ("MambaConfig", "MambaModel", {"hidden_size": 256, "num_hidden_layers": 2, "vocab_size": 8192}, "tokens"),
}
TOKENS = 128


def names():
    """All nets, torchvision's classifiers first, then its segmenters and video nets, then transformers."""
    return vision_names() + [f"transformers/{name}" for name in ARCHITECTURES]


def vision_names():
    import torchvision

    models = torchvision.models
    return ([f"torchvision/{name}" for name in models.list_models(module=models)]
            + [f"torchvision/segmentation/{name}" for name in models.list_models(module=models.segmentation)]
            + [f"torchvision/video/{name}" for name in models.list_models(module=models.video)])


def make(name, batch):
    """The module in evaluation mode with seeded random weights, and a tuple of inputs."""
    import torch

    torch.manual_seed(7)
    library, _, rest = name.partition("/")
    module, inputs = of_torchvision(rest, batch) if library == "torchvision" else of_transformers(rest, batch)
    wake(module)
    return module.eval(), inputs


def wake(module):
    """Random numbers for weights that begin as nothing (heads of zeros, scales of 1e-6): a net must not be right whatever it computes before."""
    import torch

    with torch.no_grad():
        for value in module.parameters():
            most = value.abs().max().item() if value.numel() else 1.0
            if most == 0:
                value.normal_(0, 0.02)
            elif most < 1e-3 and value.numel() == max(value.shape):
                value.normal_(0.5, 0.1)


class OneOutput:
    """Wraps a net so that it gives one tensor: what races compare."""

    def __new__(cls, net, choose):
        import torch

        class Wrapped(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.net = net

            def forward(self, *inputs):
                return choose(self.net, inputs)

        return Wrapped()


def of_torchvision(name, batch):
    import torch
    import torchvision

    kind, _, net = name.rpartition("/")
    if kind == "video":
        module = torchvision.models.get_model(net, weights=None)
        frames, pixels = (16, 224) if net.startswith(("mvit", "swin")) else (16, 112)
        return module, (torch.randn(batch, 3, frames, pixels, pixels),)
    pixels = VISION_PIXELS.get(net, 224)
    if kind == "segmentation":
        module = torchvision.models.get_model(net, weights=None, weights_backbone=None)
        return OneOutput(module, lambda m, inputs: m(*inputs)["out"]), (torch.randn(batch, 3, pixels, pixels),)
    keeps = {"init_weights": True} if net in ("googlenet", "inception_v3") else {}
    module = torchvision.models.get_model(net, weights=None, **keeps)
    return module, (torch.randn(batch, 3, pixels, pixels),)


def first_of(output):
    """The first tensor of what a net of transformers returns."""
    return output[0] if isinstance(output, tuple) else next(iter(output.values()))


def of_transformers(name, batch):
    import torch
    import transformers

    config_name, model_name, sizes, kind = ARCHITECTURES[name]
    config = getattr(transformers, config_name)(**sizes)
    config.use_cache = False
    model = getattr(transformers, model_name, None)
    if model is None:  # Parts of a model have no name at the top.
        model = getattr(transformers.models.whisper.modeling_whisper, model_name)
    module = model(config)
    return OneOutput(module, *call_of(kind)), inputs_of(torch, kind, config, batch)


def call_of(kind):
    if kind == "pair":
        return (lambda m, x: first_of(m(input_ids=x[0], decoder_input_ids=x[1])),)
    if kind in ("tokens", "words77"):
        return (lambda m, x: first_of(m(input_ids=x[0])),)
    if kind.startswith("pixels"):
        return (lambda m, x: first_of(m(pixel_values=x[0])),)
    return (lambda m, x: first_of(m(x[0])),)


def inputs_of(torch, kind, config, batch):
    words = getattr(config, "vocab_size", 1)
    if kind == "pair":
        return torch.randint(0, words, (batch, TOKENS)), torch.randint(0, words, (batch, TOKENS // 2))
    return ({"tokens": lambda: torch.randint(0, words, (batch, TOKENS)), "words77": lambda: torch.randint(0, words, (batch, 77)),
             "pixels": lambda: torch.randn(batch, 3, 224, 224), "pixels256": lambda: torch.randn(batch, 3, 256, 256),
             "mel": lambda: torch.randn(batch, 80, 3000), "wave": lambda: torch.randn(batch, 16000),
             "spectrogram": lambda: torch.randn(batch, 256, 128)}[kind](),)
