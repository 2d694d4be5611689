import { createHash } from 'node:crypto';
import { qrSvg } from './qr-svg';

describe('a QR code', () => {
  // What a decoder of another house (jsQR) read back to the letter, for versions 1 to 20.
  it.each([
    [5, 'qYzg-m04QzT0'],
    [134, 'XkSAO2uHWBuY'],
    [400, '9Cm-VtDpJFv_'],
    [858, 'LKVLQpoVgg5D'],
  ])('of %i bytes is drawn as readers read it', (length, fingerprint) => {
    const text = 'otpauth://totp/'.padEnd(length, 'abcXYZ019-%40').slice(0, length);
    expect(createHash('sha256').update(qrSvg(text)).digest('base64url').slice(0, 12)).toBe(fingerprint);
  });

  it('holds no more than its largest version does', () => {
    expect(() => qrSvg('x'.repeat(859))).toThrow('859 bytes are too many');
  });
});
