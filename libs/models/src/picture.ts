/** Maximum size of an image for a model, in bytes. Screenshots and video frames are smaller. */
export const maxPictureBytes = 5 * 1024 * 1024;

const jpegStart = Buffer.from([0xff, 0xd8, 0xff]);

/** Returns an image as a data URL for a model. Null if the bytes, which are untrusted, are not a JPEG or too large. */
export function toJpegDataUrl(bytes: Buffer): string | null {
  const isJpeg = bytes.length <= maxPictureBytes && bytes.subarray(0, jpegStart.length).equals(jpegStart);
  return isJpeg ? `data:image/jpeg;base64,${bytes.toString('base64')}` : null;
}
