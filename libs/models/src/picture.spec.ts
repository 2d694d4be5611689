import { maxPictureBytes, toJpegDataUrl } from './picture';

describe('an image for a model', () => {
  const jpeg = (size: number) => Buffer.concat([Buffer.from([0xff, 0xd8, 0xff]), Buffer.alloc(size - 3)]);

  it('a JPEG of up to 5 MiB is passed on unchanged', () => {
    expect(toJpegDataUrl(jpeg(4))).toBe('data:image/jpeg;base64,/9j/AA==');
    expect(toJpegDataUrl(jpeg(maxPictureBytes))).not.toBeNull();
    expect(toJpegDataUrl(jpeg(maxPictureBytes + 1))).toBeNull();
    expect(maxPictureBytes).toBe(5 * 1024 * 1024);
  });

  it.each([[[]], [[0xff, 0xd8]], [[0xff, 0xd8, 0xfe, 0xff]], [[0x89, 0x50, 0x4e, 0x47]]])(
    '%j is not a JPEG',
    (bytes) => {
      expect(toJpegDataUrl(Buffer.from(bytes))).toBeNull();
    },
  );
});
