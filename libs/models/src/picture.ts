/** What a model is shown is a screenshot or a frame of a film: none is larger. */
export const maxPictureBytes = 5 * 1024 * 1024;

const jpegStart = Buffer.from([0xff, 0xd8, 0xff]);

/** A picture as a model takes it; null for what is none: whoever sent it may have sent anything. */
export function jpegUrl(bytes: Buffer): string | null {
  const isJpeg = bytes.length <= maxPictureBytes && bytes.subarray(0, jpegStart.length).equals(jpegStart);
  return isJpeg ? `data:image/jpeg;base64,${bytes.toString('base64')}` : null;
}
