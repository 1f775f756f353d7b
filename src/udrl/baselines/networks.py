"""The paper's network for images (Appendix "TakeCover-v0") in place of the library's: 3x3 convolutions of stride 2."""

import torch
from gymnasium.spaces import Box
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import nn

ACTIVATIONS: dict[str, type[nn.Module]] = {"relu": nn.ReLU, "tanh": nn.Tanh}


class Convolutions(BaseFeaturesExtractor):
    """Convolutions with one pixel of padding on every side, then one vector for the fully connected layers."""

    def __init__(self, space: Box, channels: tuple[int, ...], activation: type[nn.Module]) -> None:
        n_channels, height, width = space.shape
        for _ in channels:
            height, width = (height + 1) // 2, (width + 1) // 2
        super().__init__(space, channels[-1] * height * width)
        layers: list[nn.Module] = []
        for x, y in zip((n_channels, *channels[:-1]), channels, strict=True):
            layers += [nn.Conv2d(x, y, 3, stride=2, padding=1), activation()]
        self.layers = nn.Sequential(*layers, nn.Flatten())

    def forward(self, observations: torch.Tensor) -> torch.Tensor:  # [n, channels, h, w] -> [n, features]
        return self.layers(observations)
