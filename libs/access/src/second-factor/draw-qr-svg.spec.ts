import { createHash } from 'node:crypto';
import { drawQrSvg } from './draw-qr-svg';

describe('a QR code', () => {
  // Fingerprints of codes that an independent decoder (jsQR) read back exactly, for versions 1 to 20.
  it.each([
    [5, 'qYzg-m04QzT0'],
    [134, 'XkSAO2uHWBuY'],
    [400, '9Cm-VtDpJFv_'],
    [858, 'LKVLQpoVgg5D'],
  ])('a QR code of %i bytes can be read by decoders', (length, fingerprint) => {
    const text = 'otpauth://totp/'.padEnd(length, 'abcXYZ019-%40').slice(0, length);
    expect(createHash('sha256').update(drawQrSvg(text)).digest('base64url').slice(0, 12)).toBe(fingerprint);
  });

  it('drawQrSvg refuses a text that does not fit into the largest QR code', () => {
    expect(() => drawQrSvg('x'.repeat(859))).toThrow('859 bytes are too many');
  });
});
