#!/usr/bin/env python3
"""Writes spectra.txt: Fourier transforms, with gradients, as PyTorch computes them in float64. Complex numbers stand as pairs, in
a last dimension.

usage: make_spectra.py     (needs torch; the tests need only its output)
"""

import pathlib

import torch

import make_golden
from make_complex import differentiate, keep, leaf, quarters


def main():
    torch.manual_seed(43)
    torch.set_default_dtype(torch.float64)
    z, x = leaf("spectrum_z", quarters(3, 6)), leaf("spectrum_x", quarters(3, 7, complex_numbers=False))
    for norm in "backward", "ortho", "forward":
        differentiate(f"fft_{norm}", torch.fft.fft(z, norm=norm), z=z)
        differentiate(f"ifft_{norm}", torch.fft.ifft(z, norm=norm), z=z)
        differentiate(f"rfft_{norm}", torch.fft.rfft(x, norm=norm), x=x)
        differentiate(f"irfft_{norm}", torch.fft.irfft(z, norm=norm), z=z)
        differentiate(f"hfft_{norm}", torch.fft.hfft(z, n=11, norm=norm), z=z)
        differentiate(f"ihfft_{norm}", torch.fft.ihfft(x, norm=norm), x=x)
    differentiate("fft_cut", torch.fft.fft(z, n=4), z=z)
    differentiate("fft_padded", torch.fft.fft(x, n=9, dim=1), x=x)
    differentiate("fft_axis", torch.fft.fft(z, dim=0), z=z)
    differentiate("rfft_axis", torch.fft.rfft(x, dim=0), x=x)
    differentiate("irfft_odd", torch.fft.irfft(z, n=11), z=z)
    cube = leaf("spectrum_cube", quarters(2, 3, 4))
    solid = leaf("spectrum_solid", quarters(2, 3, 6, complex_numbers=False))
    differentiate("fftn", torch.fft.fftn(cube), z=cube)
    differentiate("ifftn_axes", torch.fft.ifftn(cube, s=(3, 4), dim=(2, 0), norm="ortho"), z=cube)
    differentiate("fft2", torch.fft.fft2(cube), z=cube)
    differentiate("rfftn", torch.fft.rfftn(solid), x=solid)
    differentiate("irfftn", torch.fft.irfftn(cube), z=cube)
    for n in 5, 6:
        keep(f"fftfreq_{n}", torch.fft.fftfreq(n, 0.5))
        keep(f"rfftfreq_{n}", torch.fft.rfftfreq(n, 0.5))
    keep("fftshift", torch.fft.fftshift(cube.detach()))
    keep("ifftshift", torch.fft.ifftshift(cube.detach(), dim=(1,)))
    signal = leaf("spectrum_signal", quarters(2, 23, complex_numbers=False))
    window = keep("spectrum_window", torch.rand(6).mul(8).round() / 8 + 0.25)
    differentiate("stft", torch.stft(signal, 8, 3, 6, window, return_complex=True), x=signal)
    differentiate("stft_plain", torch.stft(signal, 8, 4, center=False, normalized=True, onesided=False, return_complex=True,
                                           window=torch.ones(8)), x=signal)
    frames = leaf("spectrum_frames", quarters(2, 5, 8))
    differentiate("istft", torch.istft(frames, 8, 3, 6, window, length=20), z=frames)
    make_golden.write(pathlib.Path(__file__).with_name("spectra.txt"))


if __name__ == "__main__":
    main()
