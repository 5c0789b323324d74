"""The built-in models once more, as PyTorch modules with the same names."""

import math

import torch
from torch import nn


class Mlp(nn.Module):
    def __init__(self, outputs=10, activation=torch.relu):
        super().__init__()
        self.activation = activation
        self.layers = nn.ModuleList([nn.Linear(63, 33), nn.Linear(33, 20), nn.Linear(20, outputs)])

    def forward(self, x):
        x = self.layers[0](x.flatten(1))
        for layer in self.layers[1:]:
            x = layer(self.activation(x))
        return x


class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.convolutions = nn.ModuleList([nn.Conv2d(3, 5, 3, padding=1), nn.Conv2d(5, 12, 3, padding=1)])
        self.dense = nn.ModuleList([nn.Linear(12 * 3 * 3, 17), nn.Linear(17, 10)])

    def forward(self, x):
        for convolution in self.convolutions:
            x = torch.max_pool2d(torch.relu(convolution(x)), 2)
        return self.dense[1](torch.relu(self.dense[0](x.flatten(1))))


class BasicBlock(nn.Module):
    expansion = 1

    def __init__(self, inputs, channels, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, channels, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)
        self.downsample = None
        if stride != 1 or inputs != channels:
            self.downsample = nn.Sequential(
                nn.Conv2d(inputs, channels, 1, stride, bias=False), nn.BatchNorm2d(channels)
            )

    def forward(self, x):
        inner = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x)))))
        return torch.relu(inner + (x if self.downsample is None else self.downsample(x)))


class Bottleneck(nn.Module):
    expansion = 4

    def __init__(self, inputs, channels, stride):
        super().__init__()
        outputs = channels * self.expansion
        self.conv1 = nn.Conv2d(inputs, channels, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)
        self.conv3 = nn.Conv2d(channels, outputs, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(outputs)
        self.downsample = None
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
            )

    def forward(self, x):
        inner = torch.relu(self.bn1(self.conv1(x)))
        inner = self.bn3(self.conv3(torch.relu(self.bn2(self.conv2(inner)))))
        return torch.relu(inner + (x if self.downsample is None else self.downsample(x)))


class ResNet(nn.Module):
    """torchvision's resnet18, resnet34 and resnet50, with the stem for ImageNet or for CIFAR."""

    def __init__(self, block, depths, large_stem=False, classes=10, first_channels=64):
        super().__init__()
        kernel, stride = (7, 2) if large_stem else (3, 1)
        self.large_stem = large_stem
        self.conv1 = nn.Conv2d(3, first_channels, kernel, stride, kernel // 2, bias=False)
        self.bn1 = nn.BatchNorm2d(first_channels)
        inputs = first_channels
        for stage, depth in enumerate(depths):
            channels = first_channels * 2**stage
            blocks = []
            for index in range(depth):
                blocks.append(block(inputs, channels, 2 if stage > 0 and index == 0 else 1))
                inputs = channels * block.expansion
            setattr(self, f"layer{stage + 1}", nn.Sequential(*blocks))
        self.fc = nn.Linear(inputs, classes)

    def forward(self, x):
        x = torch.relu(self.bn1(self.conv1(x)))
        if self.large_stem:
            x = nn.functional.max_pool2d(x, 3, 2, 1)
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(x.mean((2, 3)))


def resnet18(large_stem=False, classes=10):
    return ResNet(BasicBlock, [2, 2, 2, 2], large_stem, classes)


def resnet34(large_stem=False, classes=10):
    return ResNet(BasicBlock, [3, 4, 6, 3], large_stem, classes)


def resnet50(large_stem=False, classes=10):
    return ResNet(Bottleneck, [3, 4, 6, 3], large_stem, classes)


LONGEST = 512  # words of a sentence


def sinusoids(length, width):
    position = torch.arange(length, dtype=torch.float64).unsqueeze(1)
    rate = torch.exp(-math.log(10000) * torch.arange(0, width, 2, dtype=torch.float64) / width)
    table = torch.empty(length, width, dtype=torch.float64)
    table[:, 0::2] = torch.sin(position * rate)
    table[:, 1::2] = torch.cos(position * rate)
    return table.float()


class Transformer(nn.Module):
    """torch.nn.Transformer between embeddings. Logits of all positions, also of padding."""

    def __init__(self, source_words, target_words, width, heads, inner, layers, pre_norm, shared, dropout=0.0):
        super().__init__()
        self.width = width
        self.shared = shared
        self.places = sinusoids(LONGEST, width)  # no buffer, as the built-in model has none
        if shared == "all":
            self.embedding = nn.Embedding(source_words, width)
        else:
            self.source_embedding = nn.Embedding(source_words, width)
            self.target_embedding = nn.Embedding(target_words, width)
        self.dropout = nn.Dropout(dropout)
        self.transformer = nn.Transformer(
            width, heads, layers, layers, inner, dropout, batch_first=True, norm_first=pre_norm
        )
        if shared == "none":
            self.output = nn.Linear(width, target_words, bias=False)

    def _apply(self, function, *arguments):
        self.places = function(self.places)  # it moves with the model
        return super()._apply(function, *arguments)

    def embed(self, embedding, words):
        x = embedding(words) * math.sqrt(self.width)
        return self.dropout(x + self.places[:words.shape[1]])

    def forward(self, source, target):
        from_words = self.embedding if self.shared == "all" else self.source_embedding
        to_words = self.embedding if self.shared == "all" else self.target_embedding
        words = target[:, :-1]
        padding = source == 0
        hidden = self.transformer(
            self.embed(from_words, source),
            self.embed(to_words, words),
            tgt_mask=nn.Transformer.generate_square_subsequent_mask(words.shape[1], dtype=torch.bool),
            tgt_is_causal=True,
            src_key_padding_mask=padding,
            memory_key_padding_mask=padding,
        )
        return self.output(hidden) if self.shared == "none" else hidden @ to_words.weight.t()


class LanguageModel(nn.Module):
    def __init__(self, words, length, width, heads, inner, layers, dropout=0.0):
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.position = nn.Embedding(length, width)
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(width, heads, inner, dropout, "gelu", batch_first=True, norm_first=True)
            for _ in range(layers)
        )
        self.norm = nn.LayerNorm(width)

    def forward(self, words):
        x = self.dropout(self.embedding(words) + self.position.weight[: words.shape[1]])
        mask = nn.Transformer.generate_square_subsequent_mask(words.shape[1], dtype=torch.bool)
        for layer in self.layers:
            x = layer(x, src_mask=mask, is_causal=True)
        return self.norm(x) @ self.embedding.weight.t()
