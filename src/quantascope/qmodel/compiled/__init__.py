"""The neural Q-model of a program: model, supervision and fit."""
